import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setConfigValue } from '@palyra/config';

/** A server on loopback that stands for two hosts on the internet: the demo leaves the machine alone. */
export interface DemoWeb extends AsyncDisposable {
  /** `HOST:PORT`. */
  readonly allowed: string;
  readonly refused: string;
  readonly greeting: string;
  /** How many requests have come, for either. */
  requests(): number;
  /** With what its palyrad needs to find them. */
  settings(toml: string): string;
}

const ALLOWED = 'packages.example';
const REFUSED = 'collector.example';
const GREETING = 'hello from a host that was allowed\n';

export async function openDemoWeb(): Promise<DemoWeb> {
  let requests = 0;
  const server = createServer((_request, response) => {
    requests += 1;
    response.end(GREETING);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    allowed: `${ALLOWED}:${port}`,
    refused: `${REFUSED}:${port}`,
    greeting: GREETING,
    requests: () => requests,
    settings(toml) {
      const named = setConfigValue(toml, 'egress.hosts', `${ALLOWED}=127.0.0.1, ${REFUSED}=127.0.0.1`);
      return setConfigValue(named, 'egress.private_ranges', `127.0.0.1:${port}`);
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
