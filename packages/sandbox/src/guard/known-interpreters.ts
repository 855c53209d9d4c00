import { posix } from 'node:path';
import { interpreterEntries, MULTI_CALL } from './interpreters.ts';
import { type FileStamp, type ProgramFiles, stampKey } from './program-files.ts';
import { programNames } from './program-names.ts';
import { resolvePath } from './resolve-path.ts';

/** An interpreter of this host, so that the same file is recognised under another name. */
export interface KnownInterpreter extends FileStamp {
  readonly path: string;
  readonly names: readonly string[];
}

/** Every program on the PATH whose name the table has; looked up anew when a directory of the PATH changed. */
export function knownInterpreters(files: ProgramFiles): readonly KnownInterpreter[] {
  const directories = files.searchPath.map((directory) => directoryKey(directory, files)).join('\n');
  const survey = surveys.get(files.list);
  if (survey?.directories === directories) return survey.known;

  const known = files.searchPath.flatMap((directory) => interpretersIn(directory, files));
  surveys.set(files.list, { directories, known });
  return known;
}

/**
 * The names of the interpreter that a file is, whatever it is called. SECURITY: T-13 — `ln bash x` shares the inode,
 * `cp bash x` shares the bytes. A copy with one byte changed is neither: it lies where an agent may write, and is
 * refused for that.
 */
export function namesOfSameFile(
  program: { readonly path: string; readonly look: FileStamp },
  files: ProgramFiles,
): readonly string[] {
  const same = knownInterpreters(files).filter((known) => isSameFile(known, program, files));
  const names = same.flatMap((known) => known.names);
  // All applets of a multi-call binary are one file: `ls` is no `sh` because busybox is both.
  const multiCall = names.filter((name) => MULTI_CALL.has(name));
  return multiCall.length > 0 ? multiCall : names;
}

function isSameFile(
  known: KnownInterpreter,
  { path, look }: { readonly path: string; readonly look: FileStamp },
  files: ProgramFiles,
): boolean {
  if (known.inode === look.inode && known.device === look.device) return true;
  if (known.size !== look.size) return false;
  const digest = files.sha256(path);
  return digest !== undefined && digest === files.sha256(known.path);
}

/** By the function: a check looks through a copy of the object that remembers. */
const surveys = new WeakMap<
  ProgramFiles['list'],
  { readonly directories: string; readonly known: readonly KnownInterpreter[] }
>();

function directoryKey(directory: string, files: ProgramFiles): string {
  const resolved = resolvePath(directory, files);
  return resolved.kind === 'found' ? stampKey(resolved.look) : resolved.kind;
}

function interpretersIn(directory: string, files: ProgramFiles): readonly KnownInterpreter[] {
  return files.list(directory).flatMap((name): readonly KnownInterpreter[] => {
    const names = programNames(name);
    if (interpreterEntries(names).length === 0) return [];
    const resolved = resolvePath(posix.join(directory, name), files);
    if (resolved.kind !== 'found' || resolved.look.kind !== 'file') return [];
    // A multi-call binary is found once for each of its names, and is all of them.
    const { device, inode, size, modified, changed } = resolved.look;
    return [
      {
        path: resolved.path,
        names: [...names, ...programNames(resolved.path)],
        device,
        inode,
        size,
        modified,
        changed,
      },
    ];
  });
}
