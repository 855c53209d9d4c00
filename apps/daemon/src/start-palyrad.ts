import { tmpdir } from 'node:os';
import type { Config, HomeLayout } from '@palyra/config';
import { DEFAULT_TOOL_CALL_CONFIG, seenAgents } from '@palyra/gateway';
import {
  createPeerGuard,
  createRenewalEndpoint,
  createServerCertificate,
  guardRequests,
  hasAuthority,
  IdentityError,
  RENEWAL_PATH,
  rollOver,
} from '@palyra/identity';
import { type Clock, systemClock } from '@palyra/primitives';
import { createReportStore, type HostReport, type OperatorPlaces, probeHost } from '@palyra/sandbox';
import { removeAddressFile, writeAddressFile } from './address-file.ts';
import { composeDaemon, type Daemon } from './compose.ts';
import { byCertificate } from './interceptors/authenticate.ts';
import { createAuthorizer } from './interceptors/authorize.ts';
import { createPrincipalLimits, paceMessages } from './interceptors/limit.ts';
import { mapErrors } from './interceptors/map-errors.ts';
import { createRequestGate } from './interceptors/request-gate.ts';
import { createLifecycle } from './lifecycle.ts';
import { placeOf } from './listeners/listen-place.ts';
import { type PathHandler, serveApi } from './listeners/serve-api.ts';
import { createRunHubs } from './runs/run-hubs.ts';
import { registerServices } from './services/register-services.ts';

export interface PalyradOptions {
  readonly home: HomeLayout;
  readonly config: Config;
  readonly operator: OperatorPlaces;
  readonly version: string;
  readonly clock?: Clock;
}

/** palyrad, listening. */
export interface Palyrad {
  readonly address: string;
  /** Ends it: once, however often it is called. */
  stop(how?: { readonly now?: boolean }): Promise<void>;
  /** Resolves when it has ended, whoever ended it. */
  readonly ended: Promise<void>;
}

/** Throws what its parts throw when they do not come up; then nothing of it is left. */
export async function startPalyrad(options: PalyradOptions): Promise<Palyrad> {
  const { home, config, clock = systemClock } = options;
  requireIdentity(home);
  const place = placeOf(config.daemon.listen, {
    setting: 'daemon.listen',
    remote: config.daemon.allow_remote ? 'allowed' : 'not allowed',
  });
  await using started = new AsyncDisposableStack();
  const daemon = started.adopt(await composeDaemon({ ...options, log: { level: config.log.level } }), (each) =>
    each.close(),
  );
  const { identity, policies, logger } = daemon;
  const lifecycle = createLifecycle();
  const placeOfCaller = () => ({ coverage: 'direct', separation: 'personal' }) as const;
  const authorizer = createAuthorizer({ policies, clock, placeOf: placeOfCaller });
  const limits = createPrincipalLimits(config.limits, clock);
  const hubs = started.adopt(
    createRunHubs({
      ...daemon,
      orphanMs: config.runs.orphan_minutes * 60_000,
      patienceMs: config.runs.slow_reader_seconds * 1000,
    }),
    (each) => each.close(),
  );
  await hubs.expectOwners();
  const guard = started.adopt(await createPeerGuard({ ...identity, clock }), (each) => each.close());
  const certificate = started.adopt(
    await createServerCertificate({
      authority: identity.authority,
      hosts: [place.host],
      clock,
      beforeTending: () => rollOver(home.identity, { clock }),
      failed: (error) => logger.error({ error }, 'The certificate of palyrad could not be renewed.'),
    }),
    (each) => each.close(),
  );
  certificate.start();

  const startedAt = clock.now();
  const ended = Promise.withResolvers<void>();
  let addresses: readonly { readonly name: string; readonly address: string }[] = [];
  const api = started.adopt(
    await serveApi({
      place,
      limits: config.limits,
      logger,
      stopped: lifecycle.stopped,
      gate: createRequestGate({
        authenticate: byCertificate(guard),
        authorizer,
        limits,
        stopping: lifecycle.stopping,
        logger,
      }),
      interceptors: [mapErrors(logger), paceMessages(limits)],
      register: (router) =>
        registerServices(router, {
          ...daemon,
          authorizer,
          hubs,
          room: config.limits.message_bytes - MESSAGE_OVERHEAD,
          workspaceFor: (_peer, text) => daemon.workspaces.resolve(text),
          placeOf: placeOfCaller,
          policyDirectory: home.policies,
          toolCalls: DEFAULT_TOOL_CALL_CONFIG,
          about: {
            version: options.version,
            pid: process.pid,
            startedAt,
            storage: config.storage.url === undefined ? 'sqlite' : 'postgres',
            preset: config.policy.preset,
            journalOrigin: daemon.journal.origin,
            separation: 'personal',
            approverKey: 'unprotected',
          },
          agents: () => seenAgents(daemon.database),
          coverageOf: () => 'direct',
          openQuestions: () => daemon.approvals.countPending(),
          host: rememberedHost(options, daemon),
          listeners: () => addresses,
          stop: (how) => void setImmediate(() => void stop(how)),
        }),
      paths: { [RENEWAL_PATH]: guardRequests(createRenewalEndpoint(identity), { guard }) as PathHandler },
      tls: { kind: 'mutual', certificate, guard },
    }),
    (each) => each.close(),
  );
  addresses = [{ name: 'api', address: api.address }];
  started.defer(() => removeAddressFile(home, process));
  writeAddressFile(home, {
    pid: process.pid,
    version: options.version,
    address: api.address,
    started_at: new Date(startedAt).toISOString(),
  });
  logger.info({ address: api.address, pid: process.pid }, 'palyrad listens.');
  const all = started.move();

  let stopping: Promise<void> | undefined;
  const stop = (how: { readonly now?: boolean } = {}): Promise<void> => {
    stopping ??= endAll(how).then(ended.resolve, ended.reject);
    return stopping;
  };
  const endAll = async ({ now = false }: { readonly now?: boolean }): Promise<void> => {
    logger.info({}, 'palyrad ends.');
    lifecycle.beginStopping();
    if (!now) await atMost(daemon.calls.idle(), config.daemon.shutdown_seconds * 1000, clock);
    await daemon.gateway.close();
    lifecycle.endStreams();
    await all.disposeAsync();
  };
  return { address: api.address, stop, ended: ended.promise };
}

/** What a message has besides what a tool put out, at the most. */
const MESSAGE_OVERHEAD = 32 * 1024;

/** Throws `identity.not_initialised`. */
function requireIdentity(home: HomeLayout): void {
  if (hasAuthority(home.identity)) return;
  throw new IdentityError('identity.not_initialised', 'This home has no identities yet.', {
    fix: 'Run `palyra init`, or check --home.',
  });
}

/** What was found to be enforced is not tried again; what was not is. */
function rememberedHost({ operator }: PalyradOptions, { logger }: Daemon): () => Promise<HostReport> {
  const store = createReportStore();
  let probing: Promise<HostReport> | undefined;
  return () => {
    probing ??= probeHost({ operator, logger, temporaryDirectory: tmpdir(), store }).finally(() => {
      probing = undefined;
    });
    return probing;
  };
}

async function atMost(work: Promise<void>, ms: number, clock: Clock): Promise<void> {
  const done = new AbortController();
  await Promise.race([work, clock.sleep(ms, done.signal).catch(() => undefined)]);
  done.abort();
}
