import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What the checks look at: paths with forward slashes from the root, and their texts. */
export interface Repository {
  readonly files: readonly string[];
  read(path: string): string;
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** This checkout: every tracked file, and every new one that is not ignored, so that a check fails before the commit. */
export function thisRepository(): Repository {
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  const files = listed.split('\0').filter((path) => path !== '' && existsSync(join(ROOT, path)));
  return { files: files.toSorted(), read: (path) => readFileSync(join(ROOT, path), 'utf8') };
}

/** An invented one, for seeing a check fail. */
export function repositoryOf(contents: Readonly<Record<string, string>>): Repository {
  return {
    files: Object.keys(contents).toSorted(),
    read(path) {
      const text = contents[path];
      if (text === undefined) throw new Error(`No such file: ${path}`);
      return text;
    },
  };
}

export function isSource(path: string): boolean {
  return /\.(?:ts|tsx|mts|js|mjs|cjs)$/.test(path) && !isGenerated(path);
}

/** Generated code and other people's test data follow rules of their own. */
export function isGenerated(path: string): boolean {
  return /(?:^|\/)gen\//.test(path) || path.startsWith('tests/vectors/');
}

/** Code that is no part of the product and may import what it likes. */
export function isBesideTheProduct(path: string): boolean {
  return (
    path.endsWith('.test.ts') || path.endsWith('.test.tsx') || !/^(?:packages|apps)\//.test(path) || isTestkit(path)
  );
}

/** `packages/storage` of `packages/storage/src/index.ts`; `undefined` for files of the root. */
export function workspaceOf(path: string): string | undefined {
  return /^(?:packages|apps)\/[^/]+(?=\/)/.exec(path)?.[0];
}

export function workspacesOf({ files }: Repository): string[] {
  return [...new Set(files.map(workspaceOf).filter((directory) => directory !== undefined))];
}

export interface Manifest {
  readonly path: string;
  readonly name: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
}

const NO_DEPENDENCIES = { dependencies: {}, devDependencies: {}, optionalDependencies: {}, peerDependencies: {} };

/** The root's package.json and those of the workspaces. */
export function manifestsOf(repository: Repository): Manifest[] {
  return repository.files
    .filter((path) => /^(?:(?:packages|apps)\/[^/]+\/)?package\.json$/.test(path))
    .map((path) => ({ ...NO_DEPENDENCIES, ...JSON.parse(repository.read(path)), path }));
}

function isTestkit(path: string): boolean {
  return path.startsWith('packages/testkit/');
}
