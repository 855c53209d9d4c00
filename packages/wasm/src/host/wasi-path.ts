import type { GuestCall } from './guest-call.ts';
import { addEntry, type DirectoryNode, type VirtualNode } from './virtual-files.ts';
import { type Place, walkPath } from './walk-path.ts';
import type { OpenDirectory } from './wasi-descriptors.ts';
import { ERRNO, fault } from './wasi-errno.ts';
import type { WasiFunctions } from './wasi-functions.ts';
import { writeFilestat } from './wasi-layout.ts';
import { listDirectory } from './wasi-readdir.ts';
import { DIRECTORY_RIGHTS, FILE_RIGHTS, RIGHT } from './wasi-rights.ts';
import { setTimes } from './wasi-times.ts';

const FOLLOW = 1;
const OPEN = { create: 1, directory: 2, exclusive: 4, truncate: 8 } as const;
const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Everything that takes a path below an open directory. */
export const pathFunctions: WasiFunctions = {
  fd_prestat_get(call, fd, at) {
    const prefix = prefixOf(call, fd as number);
    call.memory.writeU64(at as number, 0n);
    call.memory.writeU32((at as number) + 4, Buffer.byteLength(prefix));
    return ERRNO.success;
  },
  fd_prestat_dir_name(call, fd, at, length) {
    const name = Buffer.from(prefixOf(call, fd as number));
    if ((length as number) >>> 0 < name.length) throw fault('nametoolong');
    call.memory.write(at as number, name);
    return ERRNO.success;
  },
  fd_readdir(call, fd, at, length, cookie, usedAt) {
    const { node } = call.descriptors.directory(fd as number);
    const used = listDirectory(call, node, {
      at: at as number,
      length: (length as number) >>> 0,
      cookie: cookie as bigint,
    });
    call.memory.writeU32(usedAt as number, used);
    return ERRNO.success;
  },
  path_create_directory(call, fd, pointer, length) {
    const place = placeOf(call, fd as number, { pointer: pointer as number, length: length as number });
    if (place.node !== undefined) throw fault('exist');
    put(call, place, call.files.makeDirectory(false));
    return ERRNO.success;
  },
  path_filestat_get(call, fd, lookup, pointer, length, at) {
    const path = { pointer: pointer as number, length: length as number, lookup: lookup as number };
    writeFilestat(call.memory, at as number, existing(placeOf(call, fd as number, path)));
    return ERRNO.success;
  },
  path_filestat_set_times(call, fd, lookup, pointer, length, accessed, modified, flags) {
    const path = { pointer: pointer as number, length: length as number, lookup: lookup as number };
    const times = { accessed: accessed as bigint, modified: modified as bigint, flags: flags as number };
    setTimes(call, existing(placeOf(call, fd as number, path)), times);
    return ERRNO.success;
  },
  path_link(call, oldFd, lookup, oldPointer, oldLength, newFd, newPointer, newLength) {
    if (((lookup as number) & FOLLOW) !== 0) throw fault('inval');
    const from = placeOf(call, oldFd as number, { pointer: oldPointer as number, length: oldLength as number });
    const to = placeOf(call, newFd as number, { pointer: newPointer as number, length: newLength as number });
    const node = existing(from);
    if (node.kind === 'directory') throw fault('perm');
    if (to.node !== undefined) throw fault('exist');
    if (to.isDirectoryPath) throw fault('noent');
    if (node.isReadOnly) throw fault('rofs');
    put(call, to, node);
    node.links += 1;
    node.changed = call.files.now();
    return ERRNO.success;
  },
  path_open(call, fd, lookup, pointer, length, oflags, rights, inheriting, flags, at) {
    const directory = call.descriptors.directory(fd as number);
    const path = { pointer: pointer as number, length: length as number, lookup: lookup as number };
    const wanted = {
      oflags: oflags as number,
      rights: BigInt.asUintN(64, rights as bigint),
      inheriting: BigInt.asUintN(64, inheriting as bigint),
      flags: flags as number,
    };
    const node = nodeToOpen(call, directory, { path, wanted });
    call.memory.writeU32(at as number, opened(call, directory, { node, wanted }));
    return ERRNO.success;
  },
  path_readlink(call, fd, pointer, length, at, room, usedAt) {
    const node = existing(placeOf(call, fd as number, { pointer: pointer as number, length: length as number }));
    if (node.kind !== 'link') throw fault('inval');
    const target = Buffer.from(node.target).subarray(0, (room as number) >>> 0);
    call.memory.write(at as number, target);
    call.memory.writeU32(usedAt as number, target.length);
    return ERRNO.success;
  },
  path_remove_directory(call, fd, pointer, length) {
    const place = placeOf(call, fd as number, { pointer: pointer as number, length: length as number });
    const node = existing(place);
    if (node.kind !== 'directory') throw fault('notdir');
    if (place.parent === undefined) throw fault('inval');
    if (node.entries.size > 0) throw fault('notempty');
    takeOut(call, place);
    return ERRNO.success;
  },
  path_rename(call, oldFd, oldPointer, oldLength, newFd, newPointer, newLength) {
    const from = placeOf(call, oldFd as number, { pointer: oldPointer as number, length: oldLength as number });
    const to = placeOf(call, newFd as number, { pointer: newPointer as number, length: newLength as number });
    rename(call, from, to);
    return ERRNO.success;
  },
  path_symlink(call, targetPointer, targetLength, fd, pointer, length) {
    const target = textAt(call, targetPointer as number, targetLength as number);
    const place = placeOf(call, fd as number, { pointer: pointer as number, length: length as number });
    if (place.node !== undefined) throw fault('exist');
    if (place.isDirectoryPath || target === '') throw fault('noent');
    // SECURITY: T-14 — a link that leads out is not even made; what leads out by what it passes is refused when it is followed.
    if (target.startsWith('/')) throw fault('perm');
    put(call, place, call.files.makeLink(target));
    return ERRNO.success;
  },
  path_unlink_file(call, fd, pointer, length) {
    const place = placeOf(call, fd as number, { pointer: pointer as number, length: length as number });
    const node = existing(place);
    if (node.kind === 'directory') throw fault('isdir');
    takeOut(call, place);
    return ERRNO.success;
  },
};

interface PathAt {
  readonly pointer: number;
  readonly length: number;
  /** Nothing is followed unless told. */
  readonly lookup?: number;
}

function placeOf(call: GuestCall, fd: number, { pointer, length, lookup = 0 }: PathAt): Place {
  const { node } = call.descriptors.directory(fd);
  return walkPath(node, textAt(call, pointer, length), (lookup & FOLLOW) !== 0);
}

function textAt(call: GuestCall, pointer: number, length: number): string {
  const bytes = call.memory.bytes(pointer, length);
  call.charge(bytes.length);
  const text = decodedText(bytes);
  if (text.includes('\0')) throw fault('inval');
  return text;
}

function decodedText(bytes: Uint8Array): string {
  try {
    return strict.decode(bytes);
  } catch {
    throw fault('ilseq');
  }
}

function existing({ node }: Place): VirtualNode {
  if (node === undefined) throw fault('noent');
  return node;
}

/** Into the directory that the place is in. Throws `rofs`. */
function put(call: GuestCall, { parent, name }: Place, node: VirtualNode): void {
  if (parent === undefined) throw fault('exist');
  // SECURITY: T-27 — a prefix that was granted to be read only stays as it is.
  if (parent.isReadOnly) throw fault('rofs');
  addEntry(parent, name, node);
  changed(call, parent);
}

function takeOut(call: GuestCall, { parent, name, node }: Place): void {
  if (parent === undefined) throw fault('inval');
  if (parent.isReadOnly) throw fault('rofs');
  parent.entries.delete(name);
  changed(call, parent);
  if (node !== undefined) node.links -= 1;
}

function changed(call: GuestCall, directory: DirectoryNode): void {
  directory.modified = call.files.now();
  directory.changed = directory.modified;
}

function rename(call: GuestCall, from: Place, to: Place): void {
  const node = existing(from);
  if (from.parent === undefined || to.parent === undefined) throw fault('inval');
  if (from.parent.isReadOnly || to.parent.isReadOnly) throw fault('rofs');
  if (to.node === node) return;
  if (node.kind === 'directory') {
    if (to.node !== undefined && to.node.kind !== 'directory') throw fault('notdir');
    if (to.node?.kind === 'directory' && to.node.entries.size > 0) throw fault('notempty');
    if (isWithin(node, to.parent)) throw fault('inval');
  } else {
    if (to.node?.kind === 'directory') throw fault('isdir');
    if (to.isDirectoryPath) throw fault('notdir');
  }
  if (to.node !== undefined) takeOut(call, to);
  from.parent.entries.delete(from.name);
  changed(call, from.parent);
  addEntry(to.parent, to.name, node);
  changed(call, to.parent);
  node.changed = call.files.now();
}

function isWithin(directory: DirectoryNode, searched: DirectoryNode): boolean {
  if (directory === searched) return true;
  return [...directory.entries.values()].some(({ node }) => node.kind === 'directory' && isWithin(node, searched));
}

interface Wanted {
  readonly oflags: number;
  readonly rights: bigint;
  readonly inheriting: bigint;
  readonly flags: number;
}

interface Opening {
  readonly path: PathAt;
  readonly wanted: Wanted;
}

function nodeToOpen(call: GuestCall, directory: OpenDirectory, { path, wanted }: Opening): VirtualNode {
  const has = (flag: number) => (wanted.oflags & flag) !== 0;
  if (has(OPEN.create) && has(OPEN.directory)) throw fault('inval');
  const text = textAt(call, path.pointer, path.length);
  const follow = ((path.lookup ?? 0) & FOLLOW) !== 0 && !(has(OPEN.create) && has(OPEN.exclusive));
  const place = walkPath(directory.node, text, follow);
  const { node } = place;
  if (node === undefined) {
    if (!has(OPEN.create)) throw fault('noent');
    if (place.isDirectoryPath) throw fault('isdir');
    const made = call.files.makeFile(false);
    put(call, place, made);
    return made;
  }
  if (has(OPEN.create) && has(OPEN.exclusive)) throw fault('exist');
  if (node.kind === 'link') throw fault('loop');
  if (has(OPEN.directory) && node.kind !== 'directory') throw fault('notdir');
  if (node.kind === 'directory' && (has(OPEN.truncate) || has(OPEN.create))) throw fault('isdir');
  if (has(OPEN.truncate) && node.kind === 'file') {
    if ((directory.rights & RIGHT.pathFilestatSetSize) === 0n) throw fault('notcapable');
    if (node.isReadOnly) throw fault('rofs');
    call.files.resize(node, 0);
  }
  return node;
}

function opened(
  call: GuestCall,
  directory: OpenDirectory,
  { node, wanted }: { readonly node: VirtualNode; readonly wanted: Wanted },
): number {
  const { flags } = wanted;
  if (node.kind === 'directory') {
    if ((wanted.rights & RIGHT.fdWrite) !== 0n) throw fault('isdir');
    // A program that asks for nothing still looks around: as other hosts do, a directory has what its parent hands down.
    const rights = DIRECTORY_RIGHTS & directory.rights;
    const inheriting = wanted.inheriting & directory.inheriting;
    return call.descriptors.add({ kind: 'directory', node, prefix: undefined, rights, inheriting, flags });
  }
  if (node.kind === 'link') throw fault('loop');
  if (node.isReadOnly && (wanted.rights & RIGHT.fdWrite) !== 0n) throw fault('rofs');
  const rights = wanted.rights & FILE_RIGHTS & directory.inheriting;
  return call.descriptors.add({ kind: 'file', node, offset: 0, rights, inheriting: 0n, flags });
}

function prefixOf(call: GuestCall, fd: number): string {
  const descriptor = call.descriptors.get(fd);
  if (descriptor.kind !== 'directory' || descriptor.prefix === undefined) throw fault('badf');
  return descriptor.prefix;
}
