import { Resolver } from 'node:dns/promises';

/** All addresses of a name, IPv4 first. Empty: there is none. Throws when nobody could tell. */
export type ResolveName = (name: string, signal: AbortSignal) => Promise<readonly string[]>;

export interface SystemResolverDeps {
  /** `ADDRESS:PORT`; those of resolv.conf unless told. */
  readonly servers?: readonly string[];
}

/**
 * Asks the system's name servers, for this very name: no search domains, no hosts file, no cache.
 * Not `getaddrinfo`, whose four threads one tool could keep busy for everybody.
 */
export function createSystemResolver({ servers }: SystemResolverDeps = {}): ResolveName {
  return async (name, signal) => {
    const resolver = new Resolver({ timeout: 5_000, tries: 2 });
    if (servers !== undefined) resolver.setServers(servers);
    const stop = (): void => resolver.cancel();
    signal.addEventListener('abort', stop, { once: true });
    try {
      const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
      const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
      const failure = answers.find((answer) => answer.status === 'rejected' && !isNone(answer.reason));
      // Half an answer will do: what is connected to is among what was checked.
      if (failure?.status === 'rejected' && addresses.length === 0) throw failure.reason;
      return addresses;
    } finally {
      signal.removeEventListener('abort', stop);
    }
  };
}

function isNone(reason: unknown): boolean {
  const code = (reason as { code?: unknown } | null)?.code;
  return code === 'ENODATA' || code === 'ENOTFOUND';
}
