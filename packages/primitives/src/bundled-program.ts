import { lstatSync, readFileSync, type Stats, statSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';

/**
 * Our programs are two thousand modules, and loading them took most of the time of a start. The set-up puts them into few
 * files (tools/setup/bundle-programs.ts); what is here says whether those are still what the sources are. See ADR 0022.
 */
export interface Bundle {
  readonly manifest: BundleManifest;
  /** Of one of our programs or threads, by the path of its source in the checkout. */
  fileOf(source: string): string | undefined;
}

export interface BundleManifest {
  readonly format: typeof BUNDLE_FORMAT;
  /** A digest of what made it: of another one, the set-up makes it anew. */
  readonly maker: string;
  /** The directory beside the manifest that holds its files. */
  readonly generation: string;
  /** Sources by their paths in the checkout, each with its file in `generation`. */
  readonly programs: Readonly<Record<string, string>>;
  readonly inputs: readonly BundleInput[];
}

/** The digest is there for a file so new that its time says nothing: it could be written again in the same moment. */
export type BundleInput = readonly [path: string, bytes: number, modifiedMs: number, sha256?: string];

export const BUNDLE_FORMAT = 1;
export const BUNDLES = '.cache/bundled';
export const BUNDLE_MANIFEST = 'manifest.json';

const CHECKOUT = new URL('../../../', import.meta.url).href;

/** What to load in place of a source, or undefined: then the source is right. A release has no sources. */
export function bundledProgram(source: string): string | undefined {
  if (!source.endsWith('.ts') || !source.startsWith(CHECKOUT)) return undefined;
  own ??= { bundle: openBundle(fileURLToPath(CHECKOUT)) };
  const file = own.bundle?.fileOf(source.slice(CHECKOUT.length));
  return file === undefined ? undefined : pathToFileURL(file).href;
}

/** Looked at once: what a process loads is of one moment. */
let own: { readonly bundle: Bundle | undefined } | undefined;

/**
 * A thread and what it loads by URL: all of it from the bundle, or all from the sources. Of both, a thread would have the
 * same module twice, and each would not know the errors of the other.
 */
export function bundledThread(entry: URL, loads: readonly string[] = []): { entry: URL; loads: readonly string[] } {
  const [first, ...rest] = [entry.href, ...loads].map(bundledProgram);
  const isWhole = first !== undefined && rest.every((each) => each !== undefined);
  return isWhole ? { entry: new URL(first), loads: rest } : { entry, loads };
}

/** Undefined where there is none that may be run, whatever the reason: the sources are always right. */
export function openBundle(checkout: string): Bundle | undefined {
  try {
    const bundles = `${checkout}/${BUNDLES}`;
    const manifestFile = `${bundles}/${BUNDLE_MANIFEST}`;
    // SECURITY: T-40 — what is in there is run: of this user alone, or not at all.
    if (!isOurs(bundles, 'directory') || !isOurs(manifestFile, 'file')) return undefined;
    const manifest = readManifest(manifestFile);
    const directory = `${bundles}/${manifest.generation}`;
    if (!isOurs(directory, 'directory')) return undefined;
    if (!manifest.inputs.every((input) => isUnchanged(checkout, input))) return undefined;
    return {
      manifest,
      fileOf(source) {
        const file = Object.hasOwn(manifest.programs, source) ? manifest.programs[source] : undefined;
        return file === undefined ? undefined : `${directory}/${file}`;
      },
    };
  } catch {
    return undefined;
  }
}

const OTHERS_REACH = 0o077;
const OTHERS_WRITE = 0o022;

/** Nobody else comes through such a directory, so that what is in it need not be looked at one by one. */
function isOurs(path: string, kind: 'directory' | 'file'): boolean {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined || stat.uid !== process.geteuid?.()) return false;
  return kind === 'directory' ? isClosed(stat) : stat.isFile() && (stat.mode & OTHERS_WRITE) === 0;
}

function isClosed(stat: Stats): boolean {
  return stat.isDirectory() && (stat.mode & OTHERS_REACH) === 0;
}

const GENERATION = /^[0-9]$/;
const FILE_NAME = /^[\w~-][\w~.-]*\.js$/;

/** Throws when it is not what the set-up writes. */
function readManifest(path: string): BundleManifest {
  const manifest = JSON.parse(readFileSync(path, 'utf8')) as BundleManifest;
  const names = Object.values(manifest.programs);
  const isWhole =
    manifest.format === BUNDLE_FORMAT &&
    GENERATION.test(manifest.generation) &&
    names.length > 0 &&
    names.every((name) => FILE_NAME.test(name)) &&
    manifest.inputs.length > 0;
  if (!isWhole) throw new Error('Not a manifest of a bundle.');
  return manifest;
}

/** A copied checkout keeps milliseconds, rounded. */
const ROUNDED_MS = 2;

function isUnchanged(checkout: string, [path, bytes, modifiedMs, sha256]: BundleInput): boolean {
  const place = `${checkout}/${path}`;
  const stat = statSync(place, { throwIfNoEntry: false });
  if (stat === undefined || stat.size !== bytes || Math.abs(stat.mtimeMs - modifiedMs) >= ROUNDED_MS) return false;
  return sha256 === undefined || digestOf(readFileSync(place)) === sha256;
}

/** Seldom needed, and threads load this file that need no cryptography. */
function digestOf(bytes: Uint8Array): string {
  return process.getBuiltinModule('node:crypto').hash('sha256', bytes);
}
