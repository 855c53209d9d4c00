import type { Device } from '../registry/device.ts';

/** How sure we are that a human decided, from weak to strong; the words of approvals and of the journal. */
export type Assurance = 'same_host_key' | 'separate_device' | 'user_verified';

/**
 * What a signature with a device's key proves by itself. `user_verified` is never of a device: it is of one signature, made
 * with a passkey that checked its user (`verify-passkey.ts`).
 * SECURITY: T-40 — a key on the host of the agents proves the least, whatever the device is called; and so does a passkey that
 * did not check its user, because nobody knows where it is.
 */
export function assuranceOf({ place }: Pick<Device, 'place'>): Exclude<Assurance, 'user_verified'> {
  return place === 'separate_device' ? 'separate_device' : 'same_host_key';
}
