import type { GuestCall } from './guest-call.ts';
import type { Descriptor, OpenFile } from './wasi-descriptors.ts';
import { ERRNO, fault } from './wasi-errno.ts';
import type { WasiFunctions } from './wasi-functions.ts';
import { writeFdstat, writeFilestat } from './wasi-layout.ts';
import { RIGHT } from './wasi-rights.ts';
import { setTimes } from './wasi-times.ts';
import { gather, scatter } from './wasi-vectors.ts';

const APPEND = 1;
const KNOWN_FLAGS = 0x1f;
const WHENCE = { set: 0, current: 1, end: 2 } as const;
const MOST_ADVICE = 5;
/** Beyond it no file of ours can be, and numbers stay exact. */
const MOST_OFFSET = BigInt(Number.MAX_SAFE_INTEGER);

/** Everything that takes an open descriptor and no path. */
export const fdFunctions: WasiFunctions = {
  fd_advise(call, fd, offset, length, advice) {
    call.descriptors.file(fd as number);
    if ((advice as number) > MOST_ADVICE || isBeyond(offset, length)) throw fault('inval');
    return ERRNO.success;
  },
  fd_allocate(call, fd, offset, length) {
    const { node } = writable(call, fd as number);
    if (length === 0n || isBeyond(offset, length)) throw fault('inval');
    const end = Number((offset as bigint) + (length as bigint));
    if (end > node.size) call.files.resize(node, end);
    return ERRNO.success;
  },
  fd_close(call, fd) {
    call.descriptors.close(fd as number);
    return ERRNO.success;
  },
  fd_datasync: looked,
  fd_sync: looked,
  fd_fdstat_get(call, fd, at) {
    writeFdstat(call.memory, at as number, call.descriptors.get(fd as number));
    return ERRNO.success;
  },
  fd_fdstat_set_flags(call, fd, flags) {
    const descriptor = call.descriptors.get(fd as number);
    if (((flags as number) & ~KNOWN_FLAGS) !== 0) throw fault('inval');
    descriptor.flags = flags as number;
    return ERRNO.success;
  },
  fd_fdstat_set_rights(call, fd, base, inheriting) {
    const descriptor = call.descriptors.get(fd as number);
    const [rights, later] = [BigInt.asUintN(64, base as bigint), BigInt.asUintN(64, inheriting as bigint)];
    // SECURITY: T-27 — rights are given up and never taken back.
    if ((rights & ~descriptor.rights) !== 0n || (later & ~descriptor.inheriting) !== 0n) throw fault('notcapable');
    descriptor.rights = rights;
    descriptor.inheriting = later;
    return ERRNO.success;
  },
  fd_filestat_get(call, fd, at) {
    const descriptor = call.descriptors.get(fd as number);
    writeFilestat(call.memory, at as number, descriptor.kind === 'stream' ? undefined : descriptor.node);
    return ERRNO.success;
  },
  fd_filestat_set_size(call, fd, size) {
    const { node } = writable(call, fd as number);
    if (isBeyond(size, 0n)) throw fault('fbig');
    call.files.resize(node, Number(size));
    touch(call, node);
    return ERRNO.success;
  },
  fd_filestat_set_times(call, fd, accessed, modified, flags) {
    const descriptor = call.descriptors.get(fd as number);
    if (descriptor.kind === 'stream') throw fault('inval');
    setTimes(call, descriptor.node, {
      accessed: accessed as bigint,
      modified: modified as bigint,
      flags: flags as number,
    });
    return ERRNO.success;
  },
  fd_pread(call, fd, vectors, count, offset, at) {
    const file = readable(call, fd as number);
    if (isBeyond(offset, 0n)) throw fault('inval');
    const read = readAt(call, file, { at: Number(offset), vectors: vectors as number, count: count as number });
    call.memory.writeU32(at as number, read);
    return ERRNO.success;
  },
  fd_pwrite(call, fd, vectors, count, offset, at) {
    const file = writable(call, fd as number);
    if (isBeyond(offset, 0n)) throw fault('inval');
    const bytes = gather(call, vectors as number, count as number);
    writeAt(call, file, { at: Number(offset), bytes });
    call.memory.writeU32(at as number, bytes.length);
    return ERRNO.success;
  },
  fd_read(call, fd, vectors, count, at) {
    const descriptor = call.descriptors.get(fd as number);
    const wanted = { vectors: vectors as number, count: count as number };
    call.memory.writeU32(at as number, readFrom(call, descriptor, wanted));
    return ERRNO.success;
  },
  fd_write(call, fd, vectors, count, at) {
    const descriptor = call.descriptors.get(fd as number);
    const bytes = gather(call, vectors as number, count as number);
    writeTo(call, descriptor, bytes);
    call.memory.writeU32(at as number, bytes.length);
    return ERRNO.success;
  },
  fd_renumber(call, from, to) {
    call.descriptors.renumber(from as number, to as number);
    return ERRNO.success;
  },
  fd_seek(call, fd, offset, whence, at) {
    const file = call.descriptors.file(fd as number);
    call.memory.writeU64(at as number, BigInt(seek(file, offset as bigint, whence as number)));
    return ERRNO.success;
  },
  fd_tell(call, fd, at) {
    call.memory.writeU64(at as number, BigInt(call.descriptors.file(fd as number).offset));
    return ERRNO.success;
  },
};

function looked(call: GuestCall, fd: unknown): number {
  call.descriptors.get(fd as number);
  return ERRNO.success;
}

function isBeyond(offset: unknown, length: unknown): boolean {
  const [from, more] = [offset as bigint, length as bigint];
  return from < 0n || more < 0n || from + more > MOST_OFFSET;
}

function readable(call: GuestCall, fd: number): OpenFile {
  const file = call.descriptors.file(fd);
  if ((file.rights & RIGHT.fdRead) === 0n) throw fault('badf');
  return file;
}

/** SECURITY: T-27 — what was granted to be read only is not written, however it was opened. */
function writable(call: GuestCall, fd: number): OpenFile {
  const file = call.descriptors.file(fd);
  if ((file.rights & RIGHT.fdWrite) === 0n) throw fault('badf');
  if (file.node.isReadOnly) throw fault('rofs');
  return file;
}

interface Wanted {
  readonly vectors: number;
  readonly count: number;
}

function readFrom(call: GuestCall, descriptor: Descriptor, wanted: Wanted): number {
  if (descriptor.kind === 'directory') throw fault('isdir');
  if ((descriptor.rights & RIGHT.fdRead) === 0n) throw fault('badf');
  if (descriptor.kind === 'stream') {
    const read = scatter(call, call.input.subarray(call.inputRead), wanted);
    call.inputRead += read;
    return read;
  }
  const read = readAt(call, descriptor, { ...wanted, at: descriptor.offset });
  descriptor.offset += read;
  return read;
}

function readAt(call: GuestCall, { node }: OpenFile, { at, vectors, count }: Wanted & { readonly at: number }): number {
  const from = Math.min(at, node.size);
  return scatter(call, node.content.subarray(from, node.size), { vectors, count });
}

function writeTo(call: GuestCall, descriptor: Descriptor, bytes: Uint8Array): void {
  if (descriptor.kind === 'directory') throw fault('isdir');
  if ((descriptor.rights & RIGHT.fdWrite) === 0n) throw fault('badf');
  if (descriptor.kind === 'stream') {
    if (descriptor.stream === 'stdout') call.print(bytes);
    else call.log(bytes);
    return;
  }
  if (descriptor.node.isReadOnly) throw fault('rofs');
  const at = (descriptor.flags & APPEND) === 0 ? descriptor.offset : descriptor.node.size;
  writeAt(call, descriptor, { at, bytes });
  descriptor.offset = at + bytes.length;
}

function writeAt(
  call: GuestCall,
  { node }: OpenFile,
  { at, bytes }: { readonly at: number; readonly bytes: Uint8Array },
): void {
  if (bytes.length === 0) return;
  if (at + bytes.length > node.size) call.files.resize(node, at + bytes.length);
  call.files.writable(node).set(bytes, at);
  touch(call, node);
}

function touch(call: GuestCall, node: OpenFile['node']): void {
  node.modified = call.files.now();
  node.changed = node.modified;
}

function seek(file: OpenFile, offset: bigint, whence: number): number {
  const from = startOf(file, whence);
  const to = BigInt(from) + offset;
  if (to < 0n || to > MOST_OFFSET) throw fault('inval');
  file.offset = Number(to);
  return file.offset;
}

function startOf(file: OpenFile, whence: number): number {
  if (whence === WHENCE.set) return 0;
  if (whence === WHENCE.current) return file.offset;
  if (whence === WHENCE.end) return file.node.size;
  throw fault('inval');
}
