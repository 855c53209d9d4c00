import { FileFailure } from './file-failure.ts';
import { compileGlob } from './glob.ts';

/** Those without `!` say what is wanted, all when there are none; those with say what is not. Throws `FileFailure`. */
export function createGlobFilter(globs: readonly string[] = []): (path: string) => boolean {
  const wanted = globs.filter((glob) => !glob.startsWith('!')).map(compile);
  const unwanted = globs.filter((glob) => glob.startsWith('!')).map((glob) => compile(glob.slice(1)));
  return (path) => (wanted.length === 0 || wanted.some((glob) => glob(path))) && !unwanted.some((glob) => glob(path));
}

/** As with ripgrep, a pattern without a slash is about names in every directory. */
function compile(pattern: string): (path: string) => boolean {
  const anchored = pattern.replace(/^\//, '');
  const glob = compileGlob(pattern.includes('/') ? anchored : `**/${pattern}`);
  if (glob !== undefined) return glob;
  throw new FileFailure('file.invalid_input', `The glob ${JSON.stringify(pattern)} is malformed.`, {
    fix: 'Use *, ?, **, [a-z] and {a,b}; close what you open.',
  });
}
