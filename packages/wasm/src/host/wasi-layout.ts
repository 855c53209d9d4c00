import type { GuestMemory } from './guest-memory.ts';
import type { VirtualNode } from './virtual-files.ts';
import type { Descriptor } from './wasi-descriptors.ts';

export const FILETYPE = { character: 2, directory: 3, file: 4, link: 7 } as const;
/** One device for all files. */
const DEVICE = 1n;

export function filetypeOf(node: VirtualNode): number {
  return FILETYPE[node.kind];
}

export function writeFdstat(memory: GuestMemory, at: number, descriptor: Descriptor): void {
  memory.bytes(at, 24).fill(0);
  memory.writeU8(at, descriptor.kind === 'stream' ? FILETYPE.character : filetypeOf(descriptor.node));
  memory.writeU16(at + 2, descriptor.flags);
  memory.writeU64(at + 8, descriptor.rights);
  memory.writeU64(at + 16, descriptor.inheriting);
}

/** Undefined: a stream. */
export function writeFilestat(memory: GuestMemory, at: number, node: VirtualNode | undefined): void {
  memory.bytes(at, 64).fill(0);
  if (node === undefined) {
    memory.writeU8(at + 16, FILETYPE.character);
    memory.writeU64(at + 24, 1n);
    return;
  }
  memory.writeU64(at, DEVICE);
  memory.writeU64(at + 8, node.inode);
  memory.writeU8(at + 16, filetypeOf(node));
  memory.writeU64(at + 24, BigInt(node.links));
  memory.writeU64(at + 32, sizeOf(node));
  memory.writeU64(at + 40, node.accessed);
  memory.writeU64(at + 48, node.modified);
  memory.writeU64(at + 56, node.changed);
}

function sizeOf(node: VirtualNode): bigint {
  if (node.kind === 'file') return BigInt(node.size);
  return node.kind === 'link' ? BigInt(Buffer.byteLength(node.target)) : 0n;
}
