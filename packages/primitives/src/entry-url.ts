/**
 * The URL of a module beside the caller, for worker threads and child processes:
 * `entryUrl(import.meta.url, './writer-thread')`. Sources run as `.ts`, releases as `.js`, and
 * the compiler rewrites `import` specifiers but not `new URL('./x.ts')`.
 */
export function entryUrl(callerUrl: string, pathWithoutExtension: string): URL {
  const extension = callerUrl.endsWith('.ts') ? '.ts' : '.js';
  return new URL(`${pathWithoutExtension}${extension}`, callerUrl);
}
