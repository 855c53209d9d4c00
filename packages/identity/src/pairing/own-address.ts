import { networkInterfaces } from 'node:os';

/**
 * SECURITY: T-06 — what answers from this very host proves no second device, also over its link-local address, which comes
 * with the name of an interface.
 */
export function isOwnAddress(
  address: string,
  interfaces: ReturnType<typeof networkInterfaces> = networkInterfaces(),
): boolean {
  const [plain = ''] = address.replace(/^::ffff:(?=\d+\.)/i, '').split('%');
  if (plain === '::1' || plain.startsWith('127.')) return true;
  const own = Object.values(interfaces).flatMap((each) => each ?? []);
  return own.some((each) => each.address === plain);
}
