import type { GuestCall } from './guest-call.ts';

/** Integers of 32 bits come as numbers, of 64 bits as bigints; which is which V8 has checked against the signature. */
export type WasiArgument = number | bigint;

/** Returns an error number, or throws a `WasiFault` that stands for one. */
export type WasiFunction = (call: GuestCall, ...args: WasiArgument[]) => number;

export type WasiFunctions = Readonly<Record<string, WasiFunction>>;
