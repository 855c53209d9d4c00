import type { DeviceKey } from '../keys/device-key.ts';

/** What a device sends to get its certificate: PKCS #10, DER, signed by its key. The library is loaded when it is needed. */
export async function createSigningRequest({ privateKey }: Pick<DeviceKey, 'privateKey'>): Promise<Uint8Array> {
  const { makeSigningRequest } = await import('../x509/make-certificates.ts');
  return makeSigningRequest(privateKey);
}
