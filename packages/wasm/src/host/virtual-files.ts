import type { GrantedEntry, GrantedPrefix } from './messages.ts';
import { fault } from './wasi-errno.ts';

interface Common {
  readonly inode: bigint;
  readonly isReadOnly: boolean;
  links: number;
  accessed: bigint;
  modified: bigint;
  changed: bigint;
}

export interface FileNode extends Common {
  readonly kind: 'file';
  content: Uint8Array;
  size: number;
  /** The content is the operator's and shared by all calls, until it is written. */
  isShared: boolean;
}

export interface DirectoryNode extends Common {
  readonly kind: 'directory';
  readonly entries: Map<string, DirectoryEntry>;
  lastPlace: number;
}

export interface LinkNode extends Common {
  readonly kind: 'link';
  readonly target: string;
}

export type VirtualNode = FileNode | DirectoryNode | LinkNode;

export interface DirectoryEntry {
  readonly node: VirtualNode;
  /** Places only grow, so that a listing goes on where it stopped, whatever was removed meanwhile. */
  readonly place: number;
}

/** The guest's files. They are in this process's memory only, and end with the call. */
export interface VirtualFiles {
  readonly roots: readonly { readonly path: string; readonly node: DirectoryNode }[];
  /** A clock for what is written; not the real one unless the guest may know it. */
  now(): bigint;
  makeFile(isReadOnly: boolean): FileNode;
  makeDirectory(isReadOnly: boolean): DirectoryNode;
  makeLink(target: string): LinkNode;
  /** Throws `nospc`. */
  resize(file: FileNode, size: number): void;
  /** The content, to be written to up to its size. */
  writable(file: FileNode): Uint8Array;
}

export interface VirtualFilesOptions {
  readonly prefixes: readonly GrantedPrefix[];
  /** Of all that is made or changed. */
  readonly fileBytes: number;
  now(): bigint;
}

const MOST_NODES = 100_000;
/** Places 1 and 2 are `.` and `..`. */
export const FIRST_PLACE = 3;

export function createVirtualFiles({ prefixes, fileBytes, now }: VirtualFilesOptions): VirtualFiles {
  let lastInode = 0n;
  let left = fileBytes;
  const common = (isReadOnly: boolean): Common => {
    // SECURITY: T-26 — files cost this process memory beside the guest's own.
    if (lastInode >= MOST_NODES) throw fault('nospc');
    lastInode += 1n;
    const time = now();
    return { inode: lastInode, isReadOnly, links: 1, accessed: time, modified: time, changed: time };
  };
  const own = (file: FileNode, size: number): void => {
    const capacity = size > file.content.length ? Math.max(size, file.content.length * 2, 256) : file.content.length;
    if (!file.isShared && capacity === file.content.length) return;
    const more = capacity - (file.isShared ? 0 : file.content.length);
    if (more > left) throw fault('nospc');
    left -= more;
    const content = new Uint8Array(capacity);
    content.set(file.content.subarray(0, Math.min(file.size, size)));
    file.content = content;
    file.isShared = false;
  };
  const files: Omit<VirtualFiles, 'roots'> = {
    now,
    makeFile: (isReadOnly) => ({
      ...common(isReadOnly),
      kind: 'file',
      content: new Uint8Array(0),
      size: 0,
      isShared: false,
    }),
    makeDirectory: (isReadOnly) => ({
      ...common(isReadOnly),
      kind: 'directory',
      entries: new Map(),
      lastPlace: FIRST_PLACE - 1,
    }),
    makeLink: (target) => ({ ...common(false), kind: 'link', target }),
    resize(file, size) {
      own(file, size);
      if (size < file.size) file.content.fill(0, size, file.size);
      file.size = size;
    },
    writable(file) {
      own(file, file.size);
      return file.content;
    },
  };
  const roots = prefixes.map(({ path, access, entries }) => {
    const node = files.makeDirectory(access === 'read');
    for (const entry of entries) plant(files, node, entry);
    return { path, node };
  });
  return { ...files, roots };
}

export function addEntry(directory: DirectoryNode, name: string, node: VirtualNode): void {
  directory.lastPlace += 1;
  directory.entries.set(name, { node, place: directory.lastPlace });
}

function plant(files: Omit<VirtualFiles, 'roots'>, root: DirectoryNode, entry: GrantedEntry): void {
  const names = entry.path.split('/').filter((name) => name !== '' && name !== '.');
  const last = names.pop();
  if (last === undefined || names.includes('..') || last === '..') return;
  let parent = root;
  for (const name of names) {
    const found = parent.entries.get(name)?.node ?? files.makeDirectory(root.isReadOnly);
    if (found.kind !== 'directory') return;
    if (!parent.entries.has(name)) addEntry(parent, name, found);
    parent = found;
  }
  addEntry(parent, last, planted(files, root, entry));
}

function planted(files: Omit<VirtualFiles, 'roots'>, root: DirectoryNode, entry: GrantedEntry): VirtualNode {
  switch (entry.kind) {
    case 'directory':
      return files.makeDirectory(root.isReadOnly);
    case 'link':
      return files.makeLink(entry.target);
    case 'file': {
      const content = decoded(entry);
      return Object.assign(files.makeFile(root.isReadOnly), { content, size: content.length, isShared: true });
    }
  }
}

const contents = new WeakMap<GrantedEntry, Uint8Array>();

/** Once for all calls: the entry stays the same. */
function decoded(entry: Extract<GrantedEntry, { kind: 'file' }>): Uint8Array {
  const known = contents.get(entry) ?? new Uint8Array(Buffer.from(entry.base64, 'base64'));
  contents.set(entry, known);
  return known;
}
