import type { GuestCall } from './guest-call.ts';
import { type DirectoryNode, FIRST_PLACE, type VirtualNode } from './virtual-files.ts';
import { FILETYPE, filetypeOf } from './wasi-layout.ts';

const DIRENT_BYTES = 24;

export interface Listing {
  readonly at: number;
  readonly length: number;
  readonly cookie: bigint;
}

/** Writes entries from a place on until the room is full, the last one perhaps in part; how many bytes that were. */
export function listDirectory(call: GuestCall, directory: DirectoryNode, { at, length, cookie }: Listing): number {
  call.memory.bytes(at, length);
  const from = cookie < 0n || cookie > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(cookie);
  let used = 0;
  for (const { name, node, place } of entriesOf(directory)) {
    if (place <= from) continue;
    if (used >= length) break;
    const bytes = Buffer.from(name);
    const entry = Buffer.alloc(DIRENT_BYTES + bytes.length);
    entry.writeBigUInt64LE(BigInt(place), 0);
    entry.writeBigUInt64LE(node?.inode ?? 0n, 8);
    entry.writeUInt32LE(bytes.length, 16);
    entry[20] = node === undefined ? FILETYPE.directory : filetypeOf(node);
    entry.set(bytes, DIRENT_BYTES);
    const part = entry.subarray(0, length - used);
    call.memory.write(at + used, part);
    used += part.length;
  }
  call.charge(used);
  return used;
}

interface Listed {
  readonly name: string;
  /** Undefined: the directory above, whose number is nobody's business. */
  readonly node: VirtualNode | undefined;
  readonly place: number;
}

function entriesOf(directory: DirectoryNode): readonly Listed[] {
  return [
    { name: '.', node: directory, place: FIRST_PLACE - 2 },
    { name: '..', node: undefined, place: FIRST_PLACE - 1 },
    ...[...directory.entries].map(([name, { node, place }]) => ({ name, node, place })),
  ];
}
