import { type MessagePort, parentPort } from 'node:worker_threads';
import { engine, instrument, openMeter } from '@palyra/wasm';
import type { GuestEnd, GuestRun } from './metered-guest.ts';

const port = parentPort as MessagePort;
port.on('message', (guest: GuestRun & { readonly module: Uint8Array }) => port.postMessage(runGuest(guest)));

function runGuest({ module, call, fuel, stack, limits }: GuestRun & { readonly module: Uint8Array }): GuestEnd {
  const metered = instrument(module, limits);
  if (metered.kind === 'refused') return { kind: 'refused', code: metered.code, reason: metered.reason };
  let ticks = 0;
  const host = {
    tick: () => {
      ticks += 1;
    },
    again: () => (instance.exports[call ?? ''] as () => unknown)(),
    fail: () => {
      throw new Error('from the host');
    },
  };
  const instance = new engine.Instance(new engine.Module(metered.bytes), { host });
  const meter = openMeter(instance);
  meter.give({ fuel, ...(stack === undefined ? {} : { stack }) });
  const end = (kind: Exclude<GuestEnd['kind'], 'refused'>, what: unknown): GuestEnd => {
    return { kind, what: String(what), spent: meter.spent(), left: meter.left(), ticks };
  };
  try {
    meter.start?.();
    return end('returned', call === undefined ? undefined : (instance.exports[call] as () => unknown)());
  } catch (error) {
    if (error instanceof RangeError) return end('overflowed', error.message);
    return end(error instanceof engine.RuntimeError ? 'trapped' : 'thrown', error);
  }
}
