import { once } from 'node:events';
import { createSecureServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { create } from '@bufbuild/protobuf';
import type { ServiceImpl } from '@connectrpc/connect';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import { CallToolResponseSchema, RunService, RunStreamResponseSchema, WorkspaceService } from '@palyra/api';
import { homeLayout, loadConfig, readEnvironment } from '@palyra/config';
import { createServerCertificate, openAuthority, serverTlsOptions } from '@palyra/identity';
import { startPalyrad } from '../apps/daemon/src/start-palyrad.ts';
import { OPERATOR } from './sandbox-place.ts';

interface Started {
  readonly address: string;
  close(): Promise<unknown>;
}

async function startReal(): Promise<Started> {
  const { config } = loadConfig({ home, environment: readEnvironment({}) });
  const palyrad = await startPalyrad({ home, config, operator: { ...OPERATOR, palyraHome: root }, version: 'bench' });
  return { address: palyrad.address, close: () => palyrad.stop({ now: true }) };
}

async function startBare(): Promise<Started> {
  const certificate = await createServerCertificate({ authority: openAuthority(home.identity) });
  const handler = connectNodeAdapter({
    acceptCompression: [],
    routes(router) {
      router.service(RunService, bareRuns);
      router.service(WorkspaceService, { listWorkspaces: () => ({ workspaces: [] }) });
    },
  });
  const listening = createSecureServer(serverTlsOptions(certificate.current()), handler);
  listening.listen(0, '127.0.0.1');
  await once(listening, 'listening');
  return {
    address: `127.0.0.1:${(listening.address() as AddressInfo).port}`,
    close: async () => certificate.close(),
  };
}

/** As many messages as an echo has events; the last of them says which call it was. */
const EVENTS = 6;

const bareRuns: Partial<ServiceImpl<typeof RunService>> = {
  callTool: () => create(CallToolResponseSchema),
  async *runStream(requests) {
    for await (const { message } of requests) {
      if (message.case === 'start') yield create(RunStreamResponseSchema, { event: RUN_STARTED });
      if (message.case !== 'propose') continue;
      for (let told = 1; told < EVENTS; told += 1) yield create(RunStreamResponseSchema, { event: { sequence: 1n } });
      const attested = { case: 'attestation', value: {} } as const;
      yield create(RunStreamResponseSchema, { event: { callKey: message.value.key, event: attested } });
    }
  },
};

const RUN_STARTED = { event: { case: 'runStarted', value: { runId: 'bare' } } } as const;

/** A process of its own, started with --expose-gc: palyrad, or a bare Connect service with the same messages and TLS. */
const [kind = '', root = ''] = process.argv.slice(2);
const home = homeLayout(root);
const server: Started = kind === 'palyrad' ? await startReal() : await startBare();
process.on('message', () => void settledBytes().then((bytes) => process.send?.(bytes)));
process.on('disconnect', () => void server.close().then(() => process.exit()));
process.send?.(server.address);

async function settledBytes(): Promise<number> {
  for (let turn = 0; turn < 5; turn += 1) {
    globalThis.gc?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
