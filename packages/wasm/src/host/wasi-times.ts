import type { GuestCall } from './guest-call.ts';
import type { VirtualNode } from './virtual-files.ts';
import { fault } from './wasi-errno.ts';

const FLAG = { accessed: 1, accessedNow: 2, modified: 4, modifiedNow: 8 } as const;

export interface NewTimes {
  readonly accessed: bigint;
  readonly modified: bigint;
  readonly flags: number;
}

/** Throws `inval` for what contradicts itself, `rofs`. */
export function setTimes(call: GuestCall, node: VirtualNode, { accessed, modified, flags }: NewTimes): void {
  const has = (...bits: readonly number[]) => bits.every((bit) => (flags & bit) !== 0);
  if (flags > 15 || has(FLAG.accessed, FLAG.accessedNow) || has(FLAG.modified, FLAG.modifiedNow)) throw fault('inval');
  if (node.isReadOnly) throw fault('rofs');
  const now = call.files.now();
  if (has(FLAG.accessed)) node.accessed = BigInt.asUintN(64, accessed);
  if (has(FLAG.accessedNow)) node.accessed = now;
  if (has(FLAG.modified)) node.modified = BigInt.asUintN(64, modified);
  if (has(FLAG.modifiedNow)) node.modified = now;
  node.changed = now;
}
