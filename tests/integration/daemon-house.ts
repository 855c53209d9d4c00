import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Decider } from '@palyra/approvals';
import { type HomeLayout, homeLayout, parseConfig } from '@palyra/config';
import { composeDaemon, type Daemon, type DaemonOptions } from '@palyra/daemon';
import type { Caller } from '@palyra/gateway';
import { type JournalSchema, openJournalKeys, parseActor, verifyHome } from '@palyra/journal';
import { createIdSource } from '@palyra/primitives';
import { openForReading } from '@palyra/storage';
import { createFakeCredentials } from '@palyra/testkit';
import { expect, vi } from 'vitest';

/** A whole palyrad without listeners, with real sandboxes, on a home of its own. */
export interface DaemonHouse {
  readonly daemon: Daemon;
  readonly home: HomeLayout;
  readonly workspace: { readonly id: string; readonly root: string };
  readonly agent: Caller;
  /** A human who may do everything, with another credential than any agent's. */
  readonly operator: Caller;
  readonly ada: Decider;
  /** The first open question, once there is one. */
  asked(): Promise<Awaited<ReturnType<Daemon['approvals']['pending']>>[number]>;
  /** Ends this one and begins another on the same home. */
  restart(): Promise<DaemonHouse>;
  verdict(): Promise<string>;
  close(): Promise<void>;
}

const PATIENT = { timeout: 20_000 };

export async function openDaemonHouse(options: Partial<DaemonOptions> = {}): Promise<DaemonHouse> {
  // Not below TMPDIR: as root the tool is somebody else, who must be able to enter.
  const base = mkdtempSync('/tmp/palyra-daemon-');
  chmodSync(base, 0o755);
  for (const name of ['operator', 'work']) mkdirSync(join(base, name));
  mkdirSync(join(base, 'home'), { mode: 0o700 });
  const credentials = createFakeCredentials();
  const device = createIdSource().newId('device');
  const ada = credentials.issue('ada-laptop', { person: 'user:ada', device });
  const home = homeLayout(join(base, 'home'));
  const all: DaemonOptions = {
    home,
    // Nothing that a test of something else runs wants a proxy beside it.
    config: parseConfig('[egress]\nunlisted = "deny"', 'palyra.toml').config,
    operator: { path: '/usr/bin:/bin', home: join(base, 'operator'), palyraHome: home.root, environment: {} },
    verify: credentials.verify,
    log: { level: 'silent' },
    pool: 'off',
    ...options,
  };
  return houseOf(await composeDaemon(all), { all, base, ada });
}

interface Ground {
  readonly all: DaemonOptions;
  readonly base: string;
  readonly ada: Decider;
}

function houseOf(daemon: Daemon, ground: Ground): DaemonHouse {
  const { all, base, ada } = ground;
  const { home } = all;
  return {
    daemon,
    home,
    ada,
    workspace: { id: 'work', root: join(base, 'work') },
    agent: {
      principal: { type: 'Agent', id: 'coder' },
      actor: parseActor('agent:coder'),
      groups: [],
      credential: 'local-agent',
      coverage: 'wrapped',
      separation: 'personal',
    },
    operator: {
      principal: { type: 'User', id: 'ada' },
      actor: parseActor('user:ada'),
      groups: ['operator', 'admin'],
      credential: 'ada-laptop',
      coverage: 'direct',
      separation: 'personal',
    },
    asked: () =>
      vi.waitFor(async () => {
        const [card] = await daemon.approvals.pending({ limit: 1 });
        if (card === undefined) throw new Error('Nobody is asked.');
        return card;
      }, PATIENT),
    async restart() {
      await daemon.close();
      return houseOf(await composeDaemon(all), ground);
    },
    async verdict() {
      const location = { kind: 'sqlite', path: home.database } as const;
      const database = await openForReading<JournalSchema>({ location, lockTimeoutMs: 5000 });
      const rootKey = openJournalKeys(home.identity).root().publicKey;
      const pins = { rootKey, witnesses: [], checkpoints: [] };
      const report = await verifyHome({ database, bodyDirectory: home.bodies, pins });
      await database.close();
      return report.kind === 'broken' ? JSON.stringify(report) : report.kind;
    },
    async close() {
      await daemon.close();
      rmSync(base, { recursive: true, force: true });
      expect(daemon.approvals.waiting).toBe(0);
    },
  };
}
