import { statSync } from 'node:fs';
import type { Config, HomeLayout } from '@palyra/config';
import type { Caller } from '@palyra/gateway';
import { agentCertificateReader, hasAuthority, IdentityError } from '@palyra/identity';
import { type Clock, parseId, systemClock } from '@palyra/primitives';
import type { OperatorPlaces, Sandbox } from '@palyra/sandbox';
import { removeAddressFile, writeAddressFile } from './address-file.ts';
import { createAgentSessions } from './agents/agent-sessions.ts';
import { openHookListener } from './agents/hook-listener.ts';
import { createLocalAgent } from './agents/local-agent.ts';
import { openWrappedSession } from './agents/open-wrapped-session.ts';
import { rememberDevice } from './agents/remembered-device.ts';
import { serveBox } from './agents/serve-box.ts';
import { composeDaemon, type Daemon } from './compose.ts';
import { createConsoleSessions } from './console/console-sessions.ts';
import { DaemonError } from './daemon-error.ts';
import { endInTime } from './end-in-time.ts';
import { createAuthorizer } from './interceptors/authorize.ts';
import { createPrincipalLimits } from './interceptors/limit.ts';
import { createLifecycle, type Lifecycle } from './lifecycle.ts';
import { listenPlaces } from './listeners/listen-places.ts';
import { type Listeners, listed, openListeners } from './listeners/open-listeners.ts';
import { createPairingHost } from './pairing/host-invitations.ts';
import { createRunHubs, type RunHubs } from './runs/run-hubs.ts';
import { measureSeparation } from './service/measure-separation.ts';
import { aboutPalyrad } from './services/about-palyrad.ts';
import { registerServices, type ServicesDeps } from './services/register-services.ts';
import { openTelemetry, type Telemetry } from './telemetry/open-telemetry.ts';
import { startUpkeep } from './upkeep.ts';
import { untilIdle } from './watch-idle.ts';

export interface PalyradOptions {
  readonly home: HomeLayout;
  readonly config: Config;
  readonly operator: OperatorPlaces;
  readonly version: string;
  /** One that another process has, from `startService`. */
  readonly sandbox?: Sandbox;
  /** Ends by itself when nobody uses it. */
  readonly idleExit?: boolean;
  readonly clock?: Clock;
}

/** palyrad, listening. */
export interface Palyrad {
  readonly address: string;
  /** Ends it: once, however often it is called. */
  stop(how?: StopHow): Promise<void>;
  /** Resolves when it has ended, whoever ended it. */
  readonly ended: Promise<void>;
}

export interface StopHow {
  /** Cancels what runs, instead of waiting for it. */
  readonly now?: boolean;
}

/** Throws what its parts throw when they do not come up; then nothing of it is left. */
export async function startPalyrad(options: PalyradOptions): Promise<Palyrad> {
  const { home, config, version, clock = systemClock } = options;
  requireIdentity(home);
  const places = listenPlaces(config.daemon);
  await using started = new AsyncDisposableStack();
  const telemetry = started.adopt(await openTelemetry({ config, version, clock }), (each) => each.close());
  const log = { level: config.log.level };
  const daemon = started.adopt(await composeDaemon({ ...options, log, observers: telemetry.calls }), (each) =>
    each.close(),
  );
  const { identity, policies, logger } = daemon;
  started.adopt(await startUpkeep({ home, settings: config.journal, daemon, clock, logger }), (each) => each.close());
  const hubs = started.adopt(openHubs(daemon, config), (each) => each.close());
  await hubs.expectOwners();
  const pairing = started.adopt(createPairingHost({ identity, place: places.pairing, clock }), (each) => each.close());
  const lifecycle = createLifecycle();
  const place = callerPlace(options, daemon);
  const certificate = agentCertificateReader(home.identity);
  const devices = started.adopt(await rememberDevice({ ...identity, clock }), (each) => each.close());
  const caller = createLocalAgent({ certificate, devices, clock, separation: place.separation });
  const agentSessions = createAgentSessions({
    ...daemon,
    hubs,
    home: home.root,
    userHome: options.operator.home,
    caller,
  });
  const authorizer = createAuthorizer({ policies, clock, placeOf: () => place });
  const ending = Promise.withResolvers<StopHow>();
  const services = servicesOf(options, {
    ...daemon,
    authorizer,
    hubs,
    agentSessions,
    pairing,
    placeOf: () => place,
    // Not at once: whoever asked for it is answered first.
    stop: (how) => void setImmediate(() => ending.resolve(how)),
    listeners: () => listed(listeners),
  });
  const limits = createPrincipalLimits(config.limits, clock);
  const listeners: Listeners = started.adopt(
    await openListeners({
      places,
      config,
      identityDirectory: home.identity,
      identity,
      authorizer,
      limits,
      telemetry,
      sessions: createConsoleSessions({ ...identity, clock }),
      lifecycle,
      logger,
      clock,
      register: (router) => registerServices(router, services),
      ready: () => daemon.approvals.countPending(),
    }),
    (each) => each.close(),
  );
  const { stopping } = lifecycle;
  daemon.wrapped.answerWith((session) =>
    openWrappedSession(session, {
      ...daemon,
      hubs,
      userHome: options.operator.home,
      counts: async (id) => (await identity.registry.find(parseId('device', id)))?.revoked === null,
      serve: (parts) =>
        serveBox(parts, { services, config, place, lifecycle, limits, policies, telemetry, logger, clock }),
    }),
  );
  const hooks = started.adopt(
    await openHookListener({ home, sessions: agentSessions, logger, clock, stopping }),
    (each) => each.close(),
  );
  followCalls(telemetry, daemon);
  started.adopt(announce(options, listeners, clock), ({ withdraw }) => withdraw());
  logger.info({ address: listeners.api, pid: process.pid }, 'palyrad listens.');
  const all = started.move();
  if (options.idleExit === true) {
    const isUsed = async () => listeners.connections + hooks.connections > 0 || (await hasWork(daemon));
    const idleMs = config.daemon.idle_minutes * 60_000;
    void untilIdle({ isUsed, idleMs, clock, signal: lifecycle.stopping }).then((isIdle) => {
      if (isIdle) ending.resolve({});
    });
  }
  const endAll = async (): Promise<void> => {
    const how = await ending.promise;
    const worked = await endWork(how, { daemon, lifecycle, config, clock }).then(
      () => undefined,
      (error: unknown) => ({ error }),
    );
    if ((await endInTime(all.disposeAsync(), CLOSING_MS, clock)) === 'late') throw stuck();
    if (worked !== undefined) throw worked.error;
  };
  const ended = endAll();
  return {
    address: listeners.api,
    ended,
    stop(how = {}) {
      ending.resolve(how);
      return ended;
    },
  };
}

/** Measured once: neither what palyrad is nor what its launcher is changes while it runs. Of an agent in a box its listener says more. */
function callerPlace({ home, operator }: PalyradOptions, { sandbox }: Daemon): Pick<Caller, 'coverage' | 'separation'> {
  const { launcher } = sandbox.about;
  const others = [launcher.only?.uid, ownerOf(operator.home)].filter((uid) => uid !== undefined);
  return { coverage: 'direct', separation: measureSeparation({ home: home.root, launcher, others }).level };
}

/** Undefined when it cannot be seen; then the launcher's word counts alone. */
function ownerOf(path: string): number | undefined {
  try {
    return statSync(path).uid;
  } catch {
    return undefined;
  }
}

function openHubs(daemon: Daemon, { runs }: Config): RunHubs {
  const { orphan_minutes: orphanMinutes, slow_reader_seconds: patience } = runs;
  return createRunHubs({ ...daemon, orphanMs: orphanMinutes * 60_000, patienceMs: patience * 1000 });
}

type GivenServices = Daemon &
  Pick<ServicesDeps, 'agentSessions' | 'authorizer' | 'hubs' | 'pairing' | 'placeOf' | 'stop' | 'listeners'>;

function servicesOf(options: PalyradOptions, given: GivenServices): ServicesDeps {
  const { home, config, clock = systemClock } = options;
  return {
    ...given,
    ...aboutPalyrad(options, { ...given, startedAt: clock.now() }),
    policyDirectory: home.policies,
    room: config.limits.message_bytes - MESSAGE_OVERHEAD,
    workspaceFor: (_peer, text) => given.workspaces.resolve(text),
  };
}

function followCalls({ metrics }: Telemetry, { calls, approvals }: Daemon): void {
  metrics.follow('palyra_calls_under_way', () => calls.underWay);
  metrics.follow('palyra_calls_executing', () => calls.executing);
  metrics.follow('palyra_questions_open', () => approvals.countPending());
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

function announce({ home, version }: PalyradOptions, listeners: Listeners, clock: Clock): { withdraw(): void } {
  const { api: address, console: page, tokens } = listeners;
  writeAddressFile(home, {
    pid: process.pid,
    version,
    address,
    ...(page === undefined ? {} : { console: page }),
    ...(tokens === undefined ? {} : { tokens }),
    started_at: new Date(clock.now()).toISOString(),
  });
  const withdraw = () => removeAddressFile(home, process);
  // Also when somebody has no patience with the rest.
  process.once('exit', withdraw);
  return {
    withdraw() {
      process.off('exit', withdraw);
      withdraw();
    },
  };
}

/** Calls, runs that somebody will come back to, and questions that somebody may answer. */
async function hasWork({ calls, gateway, approvals }: Daemon): Promise<boolean> {
  return calls.underWay > 0 || (await approvals.countPending()) > 0 || (await gateway.openRuns()).length > 0;
}

interface Ending {
  readonly daemon: Daemon;
  readonly lifecycle: Lifecycle;
  readonly config: Config;
  readonly clock: Clock;
}

/** No new work, what runs may end for a while, then it is cancelled, and those who listen are told. */
async function endWork({ now = false }: StopHow, { daemon, lifecycle, config, clock }: Ending): Promise<void> {
  daemon.logger.info({}, 'palyrad ends.');
  lifecycle.beginStopping();
  if (!now) await endInTime(daemon.calls.idle(), config.daemon.shutdown_seconds * 1000, clock);
  // A call that does not hear that it is cancelled must not keep those who listen from being told.
  if ((await endInTime(daemon.gateway.close(), CLOSING_MS, clock)) === 'late') {
    daemon.logger.error({ executing: daemon.calls.executing }, 'Calls did not end when they were cancelled.');
  }
  lifecycle.endStreams();
}

/** For what was cancelled, and then for closing everything. */
const CLOSING_MS = 15_000;

/** Whoever waits for it ends the process: the launcher ends what still runs, and the journal has whatever was told. */
function stuck(): DaemonError {
  return new DaemonError('daemon.fault', 'palyrad could not close everything in time.', {
    fix: 'What it was doing is on record; the next start settles it.',
  });
}
