import type { DirectoryNode, FileNode, VirtualFiles } from './virtual-files.ts';
import { fault } from './wasi-errno.ts';
import { DIRECTORY_RIGHTS, INHERITED_RIGHTS, STREAM_IN_RIGHTS, STREAM_OUT_RIGHTS } from './wasi-rights.ts';

interface Common {
  rights: bigint;
  inheriting: bigint;
  flags: number;
}

export interface OpenFile extends Common {
  readonly kind: 'file';
  readonly node: FileNode;
  offset: number;
}

export interface OpenDirectory extends Common {
  readonly kind: 'directory';
  readonly node: DirectoryNode;
  /** Of a granted prefix. */
  readonly prefix: string | undefined;
}

export interface OpenStream extends Common {
  readonly kind: 'stream';
  readonly stream: 'stdin' | 'stdout' | 'stderr';
}

export type Descriptor = OpenFile | OpenDirectory | OpenStream;

/** What the guest has open. */
export interface Descriptors {
  /** Throws `badf`. */
  get(fd: number): Descriptor;
  /** Throws `badf`, `notdir`. */
  directory(fd: number): OpenDirectory;
  /** Throws `badf`, `isdir`, `spipe`. */
  file(fd: number): OpenFile;
  /** Throws `mfile`. */
  add(descriptor: Descriptor): number;
  /** Throws `badf`. */
  close(fd: number): void;
  /** Throws `badf`. */
  renumber(from: number, to: number): void;
}

const MOST_OPEN = 1024;
const FIRST = 3;

export function openDescriptors(files: VirtualFiles): Descriptors {
  const open = new Map<number, Descriptor>([
    [0, stream('stdin', STREAM_IN_RIGHTS)],
    [1, stream('stdout', STREAM_OUT_RIGHTS)],
    [2, stream('stderr', STREAM_OUT_RIGHTS)],
  ]);
  const get = (fd: number): Descriptor => {
    const found = open.get(fd >>> 0);
    if (found === undefined) throw fault('badf');
    return found;
  };
  const descriptors: Descriptors = {
    get,
    directory(fd) {
      const found = get(fd);
      if (found.kind !== 'directory') throw fault('notdir');
      return found;
    },
    file(fd) {
      const found = get(fd);
      if (found.kind === 'directory') throw fault('isdir');
      if (found.kind === 'stream') throw fault('spipe');
      return found;
    },
    add(descriptor) {
      if (open.size >= MOST_OPEN) throw fault('mfile');
      let fd = FIRST;
      while (open.has(fd)) fd += 1;
      open.set(fd, descriptor);
      return fd;
    },
    close(fd) {
      if (!open.delete(fd >>> 0)) throw fault('badf');
    },
    renumber(from, to) {
      const moved = get(from);
      get(to);
      if (from >>> 0 === to >>> 0) return;
      open.set(to >>> 0, moved);
      open.delete(from >>> 0);
    },
  };
  for (const { path, node } of files.roots) {
    const rights = { rights: DIRECTORY_RIGHTS, inheriting: INHERITED_RIGHTS, flags: 0 };
    descriptors.add({ kind: 'directory', node, prefix: path, ...rights });
  }
  return descriptors;
}

function stream(name: OpenStream['stream'], rights: bigint): OpenStream {
  return { kind: 'stream', stream: name, rights, inheriting: 0n, flags: 0 };
}
