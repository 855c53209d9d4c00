import { createHash } from 'node:crypto';
import { globSync, lstatSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { type OutputChunk, type Plugin, rolldown } from 'rolldown';
import {
  BUNDLE_FORMAT,
  BUNDLE_MANIFEST,
  BUNDLES,
  type BundleInput,
  type BundleManifest,
} from '../../packages/primitives/src/bundled-program.ts';
import { BUNDLED_PROGRAMS, bundledName, keepPlaces } from './bundled-places.ts';

export interface MadeBundle {
  readonly files: number;
  readonly modules: number;
  readonly bytes: number;
}

/**
 * Written over in turn: those before may still be run by a palyrad that loads some of its parts late, and what Node
 * compiled of them is kept by their paths.
 */
const GENERATIONS = 8;

/** A file that is no older than this could be written again without a change of its time. */
const DOUBTFUL_MS = 2000;

/** The clock of file systems goes in steps, and is that much behind ours. */
const CLOCK_STEP_MS = 20;

/** Throws what the bundler throws. What a generation holds is there before its manifest is. */
export async function makeBundle(root: string): Promise<MadeBundle> {
  const begun = Date.now();
  const bundles = join(root, BUNDLES);
  makePrivate(bundles);
  const modules = new Map<string, string>();
  const manifests = installedIn(root);
  const chunks = await bundle(root, rememberedAndPlaced(root, { modules, manifests }));
  const generation = generationAfter(join(bundles, BUNDLE_MANIFEST));
  writeGeneration(join(bundles, generation), chunks);
  writeManifest(bundles, {
    format: BUNDLE_FORMAT,
    maker: makerOf(root),
    generation,
    programs: Object.fromEntries(BUNDLED_PROGRAMS.map((program) => [program, `${bundledName(program)}.js`])),
    inputs: inputsOf(root, new Map([...modules, ...manifests]), begun),
  });
  const bytes = chunks.reduce((sum, { code }) => sum + code.length, 0);
  return { files: chunks.length, modules: modules.size, bytes };
}

/** What decides how a bundle comes out, beside its inputs. */
export function makerOf(root: string): string {
  const own = ['make-bundle.ts', 'bundled-places.ts'].map((name) => join(root, 'tools/setup', name));
  return digestOf([...own, join(root, 'node_modules/rolldown/package.json')].map((path) => readFileSync(path)));
}

/** SECURITY: T-40 — what somebody else could write to, or a link to elsewhere, is not taken over, it is made anew. */
export function makePrivate(directory: string): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const stat = lstatSync(directory);
  if (stat.isDirectory() && stat.uid === process.geteuid?.() && (stat.mode & 0o077) === 0) return;
  rmSync(directory, { recursive: true });
  mkdirSync(directory, { mode: 0o700 });
}

async function bundle(root: string, plugin: Plugin): Promise<readonly OutputChunk[]> {
  const build = await rolldown({
    cwd: root,
    input: Object.fromEntries(BUNDLED_PROGRAMS.map((program) => [bundledName(program), program])),
    platform: 'node',
    tsconfig: false,
    resolve: { conditionNames: ['palyra-source', 'node', 'import', 'default'] },
    // The one reads its WebAssembly from beside itself, the other is one file already (packages/storage/build).
    external: [/^@cedar-policy\//, 'kysely'],
    plugins: [plugin],
  });
  try {
    const { output } = await build.generate({
      format: 'es',
      entryFileNames: '[name].js',
      chunkFileNames: '[name]-[hash].js',
    });
    return output.filter((each) => each.type === 'chunk');
  } finally {
    await build.close();
  }
}

/** npm's own list: a package that is put in front of another changes no other file that was read. */
export function installedIn(root: string): Map<string, string> {
  const lists = globSync('node_modules/.package-lock.json', { cwd: root });
  return new Map(lists.map((path) => [path, fileDigest(root, path)]));
}

interface ReadFiles {
  readonly modules: Map<string, string>;
  /** They say which file a package's name leads to. */
  readonly manifests: Map<string, string>;
}

/** Notes what was read of each module, and lets it know where it is from. */
function rememberedAndPlaced(root: string, { modules, manifests }: ReadFiles): Plugin {
  return {
    name: 'palyra-places',
    transform(code, id) {
      // What the bundler adds of its own is in no file.
      if (!id.startsWith(`${root}/`)) return undefined;
      const path = relative(root, id);
      modules.set(path, digestOf([code]));
      const manifest = manifestAbove(root, path);
      if (!manifests.has(manifest)) manifests.set(manifest, fileDigest(root, manifest));
      return code.includes('import.meta') ? { code: keepPlaces(code, path), map: null } : undefined;
    },
  };
}

/** Each file that was read since `begun`, with the digest of what was read of it. */
export function inputsOf(root: string, read: ReadonlyMap<string, string>, begun: number): BundleInput[] {
  return [...read].map(([path, sha256]) => {
    const { size, mtimeMs, ctimeMs } = statSync(join(root, path));
    // An old file that is moved to this place meanwhile keeps its time, but nobody sets that of its change.
    const isSure =
      mtimeMs < begun - DOUBTFUL_MS && (ctimeMs < begun - CLOCK_STEP_MS || fileDigest(root, path) === sha256);
    return isSure ? [path, size, mtimeMs] : [path, size, mtimeMs, sha256];
  });
}

const manifestsKnown = new Map<string, string>();

function manifestAbove(root: string, path: string): string {
  const directory = dirname(path);
  const known = manifestsKnown.get(directory);
  if (known !== undefined) return known;
  const own = join(directory, 'package.json');
  const found = globSync(own, { cwd: root }).length > 0 ? own : manifestAbove(root, directory);
  manifestsKnown.set(directory, found);
  return found;
}

function generationAfter(manifestFile: string): string {
  try {
    const { generation } = JSON.parse(readFileSync(manifestFile, 'utf8')) as BundleManifest;
    return String((Number(generation) + 1) % GENERATIONS);
  } catch {
    return '0';
  }
}

function writeGeneration(directory: string, chunks: readonly OutputChunk[]): void {
  const unfinished = `${directory}.${process.pid}`;
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished, { mode: 0o700 });
  for (const { fileName, code } of chunks) writeFileSync(join(unfinished, fileName), code, { mode: 0o600 });
  rmSync(directory, { recursive: true, force: true });
  renameSync(unfinished, directory);
}

function writeManifest(bundles: string, manifest: BundleManifest): void {
  const unfinished = join(bundles, `${BUNDLE_MANIFEST}.${process.pid}`);
  writeFileSync(unfinished, JSON.stringify(manifest), { mode: 0o600 });
  // At once: nobody reads half of it.
  renameSync(unfinished, join(bundles, BUNDLE_MANIFEST));
}

function fileDigest(root: string, path: string): string {
  return digestOf([readFileSync(join(root, path))]);
}

function digestOf(parts: Iterable<string | Uint8Array>): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest('hex');
}
