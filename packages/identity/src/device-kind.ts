/** What a credential is for. It stands in the certificate and in the registry, and both must say the same. */
export type DeviceKind = 'operator' | 'agent' | 'node' | 'service';

export const DEVICE_KINDS: readonly DeviceKind[] = ['operator', 'agent', 'node', 'service'];

export function isDeviceKind(text: unknown): text is DeviceKind {
  return DEVICE_KINDS.includes(text as DeviceKind);
}
