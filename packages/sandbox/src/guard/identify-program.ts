import { posix } from 'node:path';
import { namesOfSameFile } from './known-interpreters.ts';
import type { FileStamp, ProgramFiles } from './program-files.ts';
import { programNames } from './program-names.ts';
import { type ResolvedPath, resolvePath } from './resolve-path.ts';
import { readShebang } from './shebang.ts';

/** What a path would start. Only `identified` may run. */
export type ProgramIdentity = IdentifiedProgram | UnidentifiedProgram;

export interface IdentifiedProgram {
  readonly kind: 'identified';
  /** With all links followed. */
  readonly path: string;
  /** All that it is known by: as called, each link on the way, the file, and the interpreter that it is a copy of. */
  readonly names: readonly string[];
  readonly form: ProgramForm;
  readonly stamp: FileStamp;
}

export interface UnidentifiedProgram {
  readonly kind: 'unidentified';
  readonly reason: 'absent' | 'loop' | 'unreadable' | 'process_link' | 'no_file' | 'unknown_format' | 'nested_too_deep';
}

export type ProgramForm =
  | { readonly kind: 'native' }
  /** `chain`: the real path of each interpreter that the kernel starts, outermost first, and env's program last. */
  | { readonly kind: 'script'; readonly chain: readonly string[]; readonly names: readonly string[] }
  /** The kernel refuses it and a shell would run it. */
  | { readonly kind: 'text' };

/** As deep as Linux goes. */
const DEEPEST = 5;

/** `path` is absolute; its last segment is the name that it is called by. */
export function identifyProgram(path: string, files: ProgramFiles): ProgramIdentity {
  return identify(path, files, DEEPEST);
}

function identify(path: string, files: ProgramFiles, depth: number): ProgramIdentity {
  if (depth === 0) return { kind: 'unidentified', reason: 'nested_too_deep' };
  const resolved = resolvePath(path, files);
  if (resolved.kind === 'unresolvable') return { kind: 'unidentified', reason: resolved.reason };
  if (resolved.kind === 'absent') return { kind: 'unidentified', reason: 'absent' };
  if (resolved.look.kind !== 'file') return { kind: 'unidentified', reason: 'no_file' };

  const form = formOf(resolved.path, files, depth);
  if (form.kind === 'unidentified') return form;
  return { kind: 'identified', path: resolved.path, names: namesOf(path, resolved, files), form, stamp: resolved.look };
}

function namesOf(path: string, resolved: ResolvedPath & { kind: 'found' }, files: ProgramFiles): readonly string[] {
  // SECURITY: T-13 — a name chosen by the caller hides nothing: each link's name and the file's own count as well.
  const called = [path, ...resolved.links, resolved.path].flatMap(programNames);
  return [...new Set([...called, ...namesOfSameFile(resolved, files)])];
}

function formOf(path: string, files: ProgramFiles, depth: number): ProgramForm | UnidentifiedProgram {
  const bytes = files.firstBytes(path, 512);
  if (bytes === undefined) return { kind: 'unidentified', reason: 'unreadable' };
  if (isNative(bytes)) return { kind: 'native' };

  const shebang = readShebang(bytes);
  if (shebang === undefined) {
    // What binfmt_misc would make of other bytes is not known here.
    return bytes.includes(0) ? { kind: 'unidentified', reason: 'unknown_format' } : { kind: 'text' };
  }
  // A relative interpreter depends on the directory that the script is started in.
  if (!shebang.path.startsWith('/')) return { kind: 'unidentified', reason: 'absent' };
  const outer = identify(shebang.path, files, depth - 1);
  if (outer.kind === 'unidentified') return outer;
  return scriptOf(outer, shebang.program, { files, depth });
}

function scriptOf(
  outer: IdentifiedProgram,
  program: string | undefined,
  { files, depth }: { readonly files: ProgramFiles; readonly depth: number },
): ProgramForm | UnidentifiedProgram {
  const inherited = outer.form.kind === 'script' ? outer.form : { chain: [], names: [] };
  const chain = [outer.path, ...inherited.chain];
  const names = [...outer.names, ...inherited.names];
  if (program === undefined) return { kind: 'script', chain, names };

  const found = lookUp(program, files);
  const inner = found === undefined ? undefined : identify(found, files, depth - 1);
  if (inner?.kind !== 'identified') return inner ?? { kind: 'unidentified', reason: 'absent' };
  return {
    kind: 'script',
    chain: [...chain, inner.path, ...(inner.form.kind === 'script' ? inner.form.chain : [])],
    names: [...new Set([...names, ...inner.names])],
  };
}

function lookUp(program: string, files: ProgramFiles): string | undefined {
  if (program.includes('/')) return program.startsWith('/') ? program : undefined;
  return files.searchPath
    .map((directory) => posix.join(directory, program))
    .find((path) => resolvePath(path, files).kind === 'found');
}

function isNative(bytes: Uint8Array): boolean {
  const [first = 0, second = 0, third = 0, fourth = 0] = bytes;
  const magic = ((first << 24) | (second << 16) | (third << 8) | fourth) >>> 0;
  // A universal binary of macOS has few architectures where a Java class of the same magic has its version.
  if (magic === 0xcafebabe) return bytes[4] === 0 && bytes[5] === 0 && bytes[6] === 0 && (bytes[7] ?? 0) < 20;
  return NATIVE_MAGICS.has(magic);
}

/** ELF; Mach-O of 32 and 64 bits, little-endian. */
const NATIVE_MAGICS: ReadonlySet<number> = new Set([0x7f454c46, 0xcefaedfe, 0xcffaedfe]);
