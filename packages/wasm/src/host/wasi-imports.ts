import { type Current, callOf, type GuestCall } from './guest-call.ts';
import { OutOfBounds } from './guest-memory.ts';
import { WASI_GRANTS } from './known-imports.ts';
import type { GuestSettings } from './messages.ts';
import { ERRNO, WasiFault } from './wasi-errno.ts';
import { fdFunctions } from './wasi-fd.ts';
import type { WasiArgument, WasiFunction } from './wasi-functions.ts';
import { pathFunctions } from './wasi-path.ts';
import { processFunctions } from './wasi-process.ts';

/** WASI preview 1 for one instance: only what is granted is there. */
export function wasiImports(current: Current, settings: GuestSettings): Readonly<Record<string, unknown>> {
  const all = { ...processFunctions(settings), ...fdFunctions, ...pathFunctions };
  const granted = Object.entries(all).filter(([name]) => isGranted(name, settings.functions));
  return Object.fromEntries(granted.map(([name, act]) => [name, linked(current, act)]));
}

function isGranted(name: string, functions: readonly string[]): boolean {
  const grant = WASI_GRANTS[name];
  return grant === undefined || functions.includes(grant);
}

function linked(current: Current, act: WasiFunction) {
  return (...args: WasiArgument[]): number => {
    const call: GuestCall = callOf(current);
    try {
      return act(call, ...args);
    } catch (error) {
      if (error instanceof WasiFault) return error.errno;
      if (error instanceof OutOfBounds) return ERRNO.fault;
      throw error;
    }
  };
}
