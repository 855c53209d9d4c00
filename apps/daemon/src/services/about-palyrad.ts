import { tmpdir } from 'node:os';
import type { Config } from '@palyra/config';
import { type Caller, seenAgents } from '@palyra/gateway';
import {
  createReportStore,
  type OperatorPlaces,
  probeHost,
  type Sandbox,
  type SandboxFacts,
  type TierReport,
} from '@palyra/sandbox';
import type { Daemon } from '../compose.ts';
import type { AuthenticatedPeer } from '../interceptors/peer-context.ts';
import type { StatusServiceDeps, StatusTier } from './status.ts';

export interface AboutOptions {
  readonly config: Config;
  readonly operator: OperatorPlaces;
  readonly version: string;
  /** One that another process has. */
  readonly sandbox?: Sandbox;
}

export interface AboutDeps extends Pick<Daemon, 'approvals' | 'database' | 'journal' | 'logger'> {
  readonly startedAt: number;
  placeOf(peer: AuthenticatedPeer): Pick<Caller, 'separation'>;
}

type About = Omit<StatusServiceDeps, 'policies' | 'interrupted' | 'authorizer' | 'listeners' | 'stop'>;

/** What palyrad knows of itself, for whoever asks how it is. */
export function aboutPalyrad({ config, operator, version, sandbox }: AboutOptions, deps: AboutDeps): About {
  const { startedAt, journal, database, approvals } = deps;
  return {
    about: {
      version,
      pid: process.pid,
      startedAt,
      storage: config.storage.url === undefined ? 'sqlite' : 'postgres',
      preset: config.policy.preset,
      journalOrigin: journal.origin,
      approverKey: 'unprotected',
    },
    agents: () => seenAgents(database),
    openQuestions: () => approvals.countPending(),
    separationOf: (peer) => deps.placeOf(peer).separation,
    host: sandbox === undefined ? rememberedHost(operator, deps) : async () => serviceTiers(sandbox.about),
  };
}

/** What was found to be enforced is not tried again; what was not is. */
function rememberedHost(operator: OperatorPlaces, { logger }: Pick<Daemon, 'logger'>): StatusServiceDeps['host'] {
  const store = createReportStore();
  let probing: ReturnType<typeof probeHost> | undefined;
  return () => {
    probing ??= probeHost({ operator, logger, temporaryDirectory: tmpdir(), store }).finally(() => {
      probing = undefined;
    });
    return probing;
  };
}

const NOT_TRIED =
  'Not tried: palyrad is a service, and starts no sandbox of its own to look at. Each call is measured.';

/** As a service palyrad cannot start one to try; what it was told of its launcher is what it says. */
function serviceTiers({ bubblewrap, launcher }: SandboxFacts): Awaited<ReturnType<StatusServiceDeps['host']>> {
  const fix = 'palyra doctor, run by the owner of the workspaces, tries it.';
  const tier = (name: TierReport['tier'], isThere: boolean, executor: string): StatusTier => ({
    tier: name,
    state: isThere ? 'available' : 'unavailable',
    executor,
    reason: NOT_TRIED,
    fix,
  });
  return {
    tiers: [
      tier('C', bubblewrap !== undefined, 'sandbox_tier_c_linux_bubblewrap'),
      tier('B', launcher.landlockVersion > 0, 'sandbox_tier_b'),
    ],
  };
}
