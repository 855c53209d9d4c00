import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createEgress, DEFAULT_EGRESS_LIMITS, type Egress, type EgressCall, proxyProgram } from '@palyra/egress';
import { createLogger, systemClock } from '@palyra/primitives';
import { createSandbox, type Gate, type Sandbox } from '@palyra/sandbox';
import { makePlace, OPERATOR, quiet, type SandboxPlace } from './sandbox-place.ts';

export interface EgressPlace extends SandboxPlace {
  readonly sandbox: Sandbox;
  readonly egress: Egress<Gate>;
  /** A server on loopback that stands for the host which may be reached. */
  readonly url: string;
  readonly port: number;
  /** A proxy that forwards and decides nothing, behind a named socket, for the contender with socat. */
  readonly socket: string;
  close(): Promise<void>;
}

export async function makeEgressPlace(): Promise<EgressPlace> {
  const place = await makePlace();
  await using made = new AsyncDisposableStack();
  made.defer(() => rm(place.directory, { recursive: true }));
  made.defer(() => rm(place.workspace, { recursive: true }));
  const server = createServer((_request, response) => void response.end('hello\n'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  made.defer(() => void server.close());
  made.defer(() => server.closeAllConnections());
  const { port } = server.address() as AddressInfo;
  const socket = join(place.workspace, 'forward.socket');
  const forward = createServer((asked, response) => {
    const onward = request(asked.url ?? '', { method: asked.method ?? 'GET', headers: asked.headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    asked.pipe(onward);
  });
  forward.listen({ path: socket, readableAll: true, writableAll: true });
  await once(forward, 'listening');
  made.defer(() => void forward.close());
  made.defer(() => forward.closeAllConnections());
  const sandbox = made.adopt(await createSandbox({ operator: OPERATOR, logger: quiet, pool: 'off' }), (each) =>
    each.close(),
  );
  const openGate = () => sandbox.openGate(proxyProgram());
  const logger = createLogger({ level: 'error' });
  const egress = made.adopt(createEgress({ openGate, logger, clock: systemClock }), (each) => each.close());
  const all = made.move();
  const url = `http://127.0.0.1:${port}/`;
  return { ...place, sandbox, egress, url, port, socket, close: () => all.disposeAsync() };
}

let calls = 0;

/** As the gateway opens one for each command. */
export function callTo(port: number): EgressCall {
  calls += 1;
  return {
    label: `bench-${'0'.repeat(16)}-${calls}`,
    mode: 'strict',
    rules: [{ kind: 'exact', host: '127.0.0.1', ports: [port] }],
    privateRanges: [`127.0.0.1:${port}`],
    limits: DEFAULT_EGRESS_LIMITS,
  };
}
