import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Approvals } from '@palyra/approvals';
import { parseConfig } from '@palyra/config';
import type { DaemonOptions } from '@palyra/daemon';
import type { CallPage, Run, ToolCallResult } from '@palyra/gateway';
import { type DaemonHouse, openDaemonHouse } from './daemon-house.ts';

/** A server on loopback that stands for a host on the internet, and counts what reaches it. */
export interface StandIn extends AsyncDisposable {
  readonly port: number;
  /** Request lines, in order. */
  readonly seen: string[];
  /** Connections, also those that said nothing. */
  readonly connections: () => number;
}

export type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const hello: Answer = (request, response) => void response.end(`hello from ${request.headers.host}`);

export async function standIn(answer: Answer = hello): Promise<StandIn> {
  const seen: string[] = [];
  let connections = 0;
  const server: Server = createServer((request, response) => {
    seen.push(`${request.method} ${request.headers.host}${request.url}`);
    answer(request, response);
  });
  server.on('connection', () => {
    connections += 1;
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    seen,
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

export interface NetworkHouse extends Omit<DaemonHouse, 'restart'> {
  readonly run: Run;
  /** `palyra.process.run` as an agent calls it. */
  command(argv: readonly string[], more?: object): Promise<ToolCallResult>;
  /** The one open question is answered; it must be there, or come. */
  answer(said: Said): Promise<void>;
  /** Everything that is on record of a call. */
  page(result: ToolCallResult): Promise<CallPage>;
  connections(result: ToolCallResult): Promise<readonly Connection[]>;
}

export type Said = { readonly scope: 'once' | 'session' | 'always' } | { readonly deny: string };
export type Connection = NonNullable<NonNullable<CallPage['attestation']>['statement']>['egress'][number];

/** A palyrad whose proxy finds these names on loopback, at the ports that are opened and no others. */
export async function openNetworkHouse(
  { names = [], ports, settings = '' }: { names?: readonly string[]; ports: readonly number[]; settings?: string },
  options: Partial<DaemonOptions> = {},
): Promise<NetworkHouse> {
  const toml = `[egress]
hosts = "${names.map((name) => `${name}=127.0.0.1`).join(', ')}"
private_ranges = "${ports.map((port) => `127.0.0.1:${port}`).join(', ')}"
${settings}`;
  const house = await openDaemonHouse({ config: parseConfig(toml, 'palyra.toml').config, ...options });
  const { daemon, agent, operator, workspace, ada } = house;
  const run = await daemon.gateway.startRun(agent, { workspace });
  // So that the proxy is there before the first test, and stays: what a test starts, it ends.
  await run.call({ tool: 'palyra.process.run', input: '{"argv":["true"],"unlisted":"ask"}' });
  const page = (result: ToolCallResult) => daemon.gateway.callOf(operator, result.call_id);
  return {
    ...house,
    run,
    command: (argv, more = {}) => run.call({ tool: 'palyra.process.run', input: JSON.stringify({ argv, ...more }) }),
    async answer(said) {
      const card = await house.asked();
      const answered = await daemon.approvals.decide(card.approvalId, answerOf(said, card, ada));
      if (answered.kind !== 'decided') throw new Error(JSON.stringify(answered));
    },
    page,
    async connections(result) {
      const { attestation } = await page(result);
      return attestation?.statement?.egress ?? [];
    },
    async close() {
      await run.end();
      await house.close();
    },
  };
}

function answerOf(
  said: Said,
  { shown }: Awaited<ReturnType<DaemonHouse['asked']>>,
  by: DaemonHouse['ada'],
): Parameters<Approvals['decide']>[1] {
  return 'deny' in said
    ? { decision: 'deny', reason: said.deny, shown, by }
    : { decision: 'approve', scope: said.scope, shown, by };
}
