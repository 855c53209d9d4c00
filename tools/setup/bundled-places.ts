import { dirname, join } from 'node:path';

/**
 * What is started on its own: the programs, their threads, and what the storage writer loads by URL. All in one bundle, so
 * that a thread and what it loads have the same modules and not each its own.
 */
export const BUNDLED_PROGRAMS: readonly string[] = [
  'apps/cli/src/palyra-process.ts',
  'apps/daemon/src/palyrad-process.ts',
  'packages/approvals/src/store/ask-program.ts',
  'packages/gateway/src/wasm-hosts/keep-key-program.ts',
  'packages/journal/src/signature-thread.ts',
  'packages/journal/src/store/journal-program.ts',
  'packages/policy/src/compile-thread.ts',
  'packages/storage/src/sqlite/emptier-thread.ts',
  'packages/storage/src/sqlite/reader-thread.ts',
  'packages/storage/src/sqlite/writer-thread.ts',
  'packages/wasm/src/instrument-thread.ts',
];

/** From a directory of a bundle to the checkout. */
const UP = '../../..';

/** The name of a program's file, without its ending. */
export function bundledName(program: string): string {
  return program.replace(/\.ts$/, '').replaceAll('/', '~');
}

const PLACES = new RegExp(
  [
    String.raw`entryUrl\(\s*import\.meta\.url,\s*'([^']+)'\s*\)`,
    String.raw`createRequire\(import\.meta\.url\)\('([^']+)'\)`,
    String.raw`import\.meta\.(resolve\('\.|\w+)`,
  ].join('|'),
  'g',
);

/**
 * A module in a bundle still says that it is where its source is, so that what lies beside it is found; but for threads and
 * programs that are in the bundle, too. Seen from the bundle, so that a checkout can be moved.
 */
export function keepPlaces(code: string, path: string): string {
  const source = `new URL(${JSON.stringify(join(UP, path))}, import.meta.url)`;
  return code.replace(PLACES, (whole, beside?: string, required?: string, property?: string) => {
    if (beside !== undefined) {
      const program = join(dirname(path), `${beside}.ts`);
      if (BUNDLED_PROGRAMS.includes(program)) return `new URL('./${bundledName(program)}.js', import.meta.url)`;
      return `entryUrl(${source}.href, '${beside}')`;
    }
    // What is loaded late from a package is a part of the bundle that is run late.
    if (required !== undefined) return `require('${required}')`;
    // Of packages only: from here up to the checkout they are the same.
    if (property === 'resolve') return whole;
    const placed = OF_SOURCE[property ?? ''];
    if (placed === undefined) throw new Error(`${path} uses ${whole}, which a bundle does not know`);
    return placed(source);
  });
}

const OF_SOURCE: Readonly<Record<string, (source: string) => string>> = {
  url: (source) => `${source}.href`,
  filename: (source) => `process.getBuiltinModule('node:url').fileURLToPath(${source})`,
  dirname: (source) => `process.getBuiltinModule('node:url').fileURLToPath(new URL('.', ${source})).slice(0, -1)`,
};
