import { networkInterfaces } from 'node:os';

/** How old an answer may be: interfaces come and go, and asking costs more than a connection. */
const FRESH_MS = 5_000;

/** Whether an address is one of this machine. Its services think that only friends can reach them. */
export function createOwnAddresses(now: () => number): (address: string) => boolean {
  let addresses = new Set<string>();
  let readAt = Number.NEGATIVE_INFINITY;
  return (address) => {
    if (now() - readAt > FRESH_MS) {
      readAt = now();
      addresses = new Set(Object.values(networkInterfaces()).flatMap((own) => own?.map((one) => one.address) ?? []));
    }
    return addresses.has(address);
  };
}
