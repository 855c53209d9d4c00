import type { GuestMemory } from './guest-memory.ts';
import type { AskedFunction, GuestEnd } from './messages.ts';
import type { VirtualFiles } from './virtual-files.ts';
import type { Descriptors } from './wasi-descriptors.ts';

/** Thrown through the guest to end its call. A guest that catches it is out of fuel, and every host function throws again. */
export class GuestStop extends Error {}

/** What host functions know of the call that is under way. */
export interface GuestCall {
  readonly id: number;
  readonly handle: bigint;
  readonly input: Uint8Array;
  readonly args: readonly string[];
  readonly memory: GuestMemory;
  readonly files: VirtualFiles;
  readonly descriptors: Descriptors;
  /** How much of the input was read through WASI. */
  inputRead: number;
  /** What the last host call gave, until the guest fetches it. */
  pending: Uint8Array;
  hostCalls: number;
  /** Takes fuel for bytes that the host moves. */
  charge(bytes: number): void;
  /** Standard output. Ends the call when it is more than it may be. */
  print(bytes: Uint8Array): void;
  /** What is beyond the limit is left out. */
  log(bytes: Uint8Array): void;
  /** Ends the call. */
  stop(end: GuestEnd, message: string, exitCode?: number): never;
  ask(name: AskedFunction, body: Uint8Array): { readonly status: number; readonly body: Uint8Array };
}

/** Host functions are linked once for an instance and work for one call after the other. */
export interface Current {
  call: GuestCall | undefined;
}

/** Throws when no call is under way, or when it was ended: a guest that runs then runs on nobody's behalf. */
export function callOf(current: Current): GuestCall {
  if (current.call === undefined) throw new GuestStop('No call is under way.');
  return current.call;
}
