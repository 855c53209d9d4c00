import { addModule } from '@palyra/config';

/** Says again what it is told: `(module … (func (export "palyra_call") …))` in 87 bytes. */
const ECHO =
  'AGFzbQEAAAABDQJgAX8Bf2ADfn9/AX4DAwIAAQUDAQABBycDBm1lbW9yeQIADHBhbHlyYV9hbGxvYwAAC3BhbHlyYV9jYWxsAAEKFAIFAEGACAsMACABrUIghiACrYQL';
/** The same with `(loop $again (br $again))` instead. */
const SPIN =
  'AGFzbQEAAAABDQJgAX8Bf2ADfn9/AX4DAwIAAQUDAQABBycDBm1lbW9yeQIADHBhbHlyYV9hbGxvYwAAC3BhbHlyYV9jYWxsAAEKEQIFAEGACAsJAANADAALQgAL';

export const SPIN_FUEL = 10_000_000;

/** Two modules of the operator's, without any grants. */
export async function installModules(directory: string): Promise<void> {
  const module = (name: string, base64: string, limits = {}) =>
    addModule(directory, { name, bytes: Buffer.from(base64, 'base64'), grants: {}, limits }, { replace: true });
  await module('echo', ECHO);
  await module('spin', SPIN, { fuel: SPIN_FUEL });
}
