import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { createServer, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { DescService } from '@bufbuild/protobuf';
import { type Client, ConnectError, createClient, type Interceptor } from '@connectrpc/connect';
import { connectNodeAdapter, createGrpcTransport } from '@connectrpc/connect-node';
import { ApprovalService, ErrorDetailSchema, RunService } from '@palyra/api';
import type { Decider } from '@palyra/approvals';
import { homeLayout, parseConfig } from '@palyra/config';
import { composeDaemon, type Daemon, type DaemonOptions } from '@palyra/daemon';
import { type Clock, createIdSource, systemClock } from '@palyra/primitives';
import { createAgentSessions } from '../../apps/daemon/src/agents/agent-sessions.ts';
import { createAuthorizer } from '../../apps/daemon/src/interceptors/authorize.ts';
import { mapErrors } from '../../apps/daemon/src/interceptors/map-errors.ts';
import { type AuthenticatedPeer, PEER } from '../../apps/daemon/src/interceptors/peer-context.ts';
import type { RingBounds } from '../../apps/daemon/src/runs/event-ring.ts';
import { createRunHubs, type RunHubs } from '../../apps/daemon/src/runs/run-hubs.ts';
import { createApprovalService } from '../../apps/daemon/src/services/approval.ts';
import { createRunCalls } from '../../apps/daemon/src/services/run.ts';
import { callerOf } from '../../apps/daemon/src/wire/caller-of.ts';
// Not through its index, which brings the contract suites.
import { createFakeCredentials } from '../../packages/testkit/src/fake-credentials.ts';

/** palyrad's services on a home, over HTTP/2 on loopback, without its listeners: who calls is said by the test. */
export interface ApiPlace extends AsyncDisposable {
  readonly daemon: Daemon;
  readonly hubs: RunHubs;
  readonly workspace: { readonly id: string; readonly root: string };
  /** The operator's key. */
  readonly ada: Decider;
  client<Service extends DescService>(service: Service, who?: Who): Client<Service>;
  /** Ends every connection, as a network does that fails. */
  cut(): void;
}

export type Who = keyof typeof PEERS;

const ids = createIdSource();

const certified = {
  via: 'certificate',
  assurance: 'same_host_key',
  certificate: { fingerprint: '', notAfter: Number.MAX_SAFE_INTEGER },
} as const;

const agent = { ...certified, kind: 'agent', roles: ['agent'], groups: ['agent'] } as const;

const PEERS = {
  agent: { ...agent, principal: 'agent:local', device: ids.newId('device') },
  stranger: { ...agent, principal: 'agent:stranger', device: ids.newId('device') },
  operator: {
    ...certified,
    kind: 'operator',
    principal: 'user:ada',
    device: ids.newId('device'),
    roles: ['admin', 'approver', 'operator'],
    groups: ['admin', 'approver', 'operator'],
  },
  token: {
    via: 'token',
    token: ids.newId('token'),
    principal: 'user:ada',
    kind: 'operator',
    roles: ['operator'],
    groups: ['operator'],
    actions: ['approval.decide'],
    expiresAt: Number.MAX_SAFE_INTEGER,
  },
} as const satisfies Record<string, AuthenticatedPeer>;

const HERE = { coverage: 'direct', separation: 'personal' } as const;
const ROOM = 4 * 1024 * 1024;

export interface ApiPlaceOptions {
  readonly root: string;
  readonly clock?: Clock;
  readonly bounds?: RingBounds;
  readonly orphanMs?: number;
  readonly patienceMs?: number;
  readonly daemon?: Partial<DaemonOptions>;
}

export async function openApi(options: ApiPlaceOptions): Promise<ApiPlace> {
  const { root, clock = systemClock, bounds, orphanMs = 600_000, patienceMs = 60_000 } = options;
  const workspace = { id: 'work', root: join(root, 'work') };
  mkdirSync(workspace.root, { recursive: true });
  mkdirSync(join(root, 'home'), { recursive: true, mode: 0o700 });
  const credentials = createFakeCredentials();
  const { device, principal } = PEERS.operator;
  const ada = credentials.issue(device, { person: principal, device });
  const daemon = await composeDaemon({
    home: homeLayout(join(root, 'home')),
    // Nothing that these tests run wants a proxy beside it.
    config: parseConfig('[egress]\nunlisted = "deny"', 'palyra.toml').config,
    operator: { path: '/usr/bin:/bin', home: root, palyraHome: join(root, 'home'), environment: {} },
    verify: credentials.verify,
    log: { level: 'silent' },
    pool: 'off',
    ...options.daemon,
  });
  const hubs = createRunHubs({
    gateway: daemon.gateway,
    clock,
    logger: { error: () => undefined },
    orphanMs,
    patienceMs,
    ...(bounds === undefined ? {} : { bounds }),
  });
  const runCalls = createRunCalls({
    gateway: daemon.gateway,
    hubs,
    authorizer: createAuthorizer({ policies: daemon.policies, clock, placeOf: () => HERE }),
    room: ROOM,
    workspaceFor: async () => workspace,
    placeOf: () => HERE,
    agentSessions: createAgentSessions({
      ...daemon,
      hubs,
      home: options.root,
      userHome: options.root,
      caller: async () => callerOf(PEERS.agent, { coverage: 'hooked', separation: 'personal' }),
    }),
  });
  const sessions = new Set<ServerHttp2Session>();
  const server = createServer(
    connectNodeAdapter({
      // As palyrad has it: what is written is what is sent.
      acceptCompression: [],
      interceptors: [mapErrors({ error: () => undefined }), identify],
      routes(router) {
        router.service(RunService, runCalls);
        router.service(ApprovalService, createApprovalService({ approvals: daemon.approvals, room: ROOM }));
      },
    }),
  );
  server.on('session', (session) => {
    sessions.add(session);
    session.on('close', () => sessions.delete(session));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const cut = () => {
    for (const session of sessions) session.destroy();
  };
  return {
    daemon,
    hubs,
    workspace,
    ada,
    client(service, who = 'agent') {
      const asWho: Interceptor = (next) => (request) => {
        request.header.set('x-test-peer', who);
        return next(request);
      };
      return createClient(service, createGrpcTransport({ baseUrl, interceptors: [asWho] }));
    },
    cut,
    async [Symbol.asyncDispose]() {
      hubs.close();
      cut();
      server.close();
      await daemon.close();
    },
  };
}

const identify: Interceptor = (next) => (request) => {
  request.contextValues.set(PEER, PEERS[request.header.get('x-test-peer') as Who]);
  return next(request);
};

/** Our code in what a client got. */
export function codeOf(error: unknown): string {
  if (!(error instanceof ConnectError)) throw error;
  return error.findDetails(ErrorDetailSchema)[0]?.code ?? `connect:${error.code}`;
}
