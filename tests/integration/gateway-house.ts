import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { APPROVAL_MIGRATIONS, type Approvals, approvalPrograms, type Decider, openApprovals } from '@palyra/approvals';
import {
  type Caller,
  commitWithJournal,
  createApprovalRecord,
  createCatalog,
  createGateway,
  DEFAULT_TOOL_CALL_CONFIG,
  GATEWAY_MIGRATIONS,
  type Gateway,
  type GatewayDeps,
  type Tool,
} from '@palyra/gateway';
import {
  JOURNAL_MIGRATIONS,
  type Journal,
  journalPrograms,
  openJournal,
  openJournalKeys,
  parseActor,
  verifyHome,
} from '@palyra/journal';
import { type ActivePolicies, createActivePolicies, EVERYTHING_LISTED } from '@palyra/policy';
import { createIdSource, systemClock } from '@palyra/primitives';
import { type Database, openDatabase, openForReading } from '@palyra/storage';
// Not through its index, which brings the contract suites: processes that crash on purpose load this, too.
import { createFakeCredentials } from '../../packages/testkit/src/fake-credentials.ts';

/** Everything between a proposal and its attestation, on a home of its own, without listeners. */
export interface GatewayHouse {
  readonly gateway: Gateway;
  readonly approvals: Approvals;
  readonly journal: Journal;
  readonly policy: ActivePolicies;
  readonly workspace: { readonly id: string; readonly root: string };
  readonly agent: Caller;
  readonly ada: Decider;
  /** Whether the journal as it is on disk holds. */
  verdict(): Promise<string>;
  close(): Promise<void>;
}

export interface HouseOptions extends Partial<Pick<GatewayDeps, 'config' | 'unattended' | 'redactor' | 'kept'>> {
  /** Stands between the gateway and the journal. */
  readonly around?: (journal: Journal) => Journal;
  readonly tools: readonly Tool[];
  /** Policies of its own, read from the home: else every house has the same preset, compiled once. */
  readonly ownPolicies?: boolean;
  /** To go on with the home of an earlier one. */
  readonly root?: string;
}

const ids = createIdSource();
const DEVICE = ids.newId('device');
const quiet = { error: () => undefined, debug: () => undefined, info: () => undefined, warn: () => undefined };

export async function openHouse({
  tools,
  root = newRoot(),
  around = (journal) => journal,
  ownPolicies = false,
  ...options
}: HouseOptions): Promise<GatewayHouse & { readonly root: string }> {
  const location = { kind: 'sqlite', path: join(root, 'palyra.db') } as const;
  const keyDirectory = join(root, 'identity');
  const bodyDirectory = join(root, 'bodies');
  const database: Database<never> = await openDatabase({
    location,
    migrations: [...JOURNAL_MIGRATIONS, ...APPROVAL_MIGRATIONS, ...GATEWAY_MIGRATIONS],
    programs: [...journalPrograms(keyDirectory), ...approvalPrograms()],
    lockTimeoutMs: 5000,
    logger: quiet,
  });
  const journal = await openJournal({ database, keyDirectory, bodyDirectory });
  let changed: (() => Promise<void>) | undefined;
  const policy = ownPolicies
    ? await policiesOf(join(root, 'policies'), () => void changed?.())
    : await presetPolicies();
  const credentials = createFakeCredentials();
  const ada = credentials.issue('ada-laptop', { person: 'user:ada', device: DEVICE });
  const approvals = await openApprovals({
    database,
    origin: journal.origin,
    verify: credentials.verify,
    commit: commitWithJournal(journal, parseActor('daemon:palyrad')),
    ...createApprovalRecord(journal),
  });
  changed = () => gateway.policiesChanged();
  const gateway = createGateway({
    database,
    journal: around(journal),
    approvals,
    policy,
    catalog: createCatalog(tools),
    config: DEFAULT_TOOL_CALL_CONFIG,
    owner: 'test',
    ...options,
  });
  return {
    root,
    gateway,
    approvals,
    journal,
    policy,
    ada,
    workspace: { id: 'work', root: join(root, 'work') },
    agent: {
      principal: { type: 'Agent', id: 'coder' },
      actor: parseActor('agent:coder'),
      groups: [],
      credential: 'local-agent',
      coverage: 'wrapped',
      separation: 'personal',
    },
    async verdict() {
      const reader = await openForReading<never>({ location, lockTimeoutMs: 5000 });
      try {
        const rootKey = openJournalKeys(keyDirectory).root().publicKey;
        const report = await verifyHome({
          database: reader,
          bodyDirectory,
          pins: { rootKey, witnesses: [], checkpoints: [] },
        });
        return report.kind === 'broken' ? JSON.stringify(report) : report.kind;
      } finally {
        await reader.close();
      }
    },
    async close() {
      await gateway.close();
      approvals.close();
      if (ownPolicies) await policy.close();
      await database.close();
    },
  };
}

let preset: Promise<ActivePolicies> | undefined;

/** One set for all houses of a process: none of them has policies of its own, and checking ours takes a second. */
function presetPolicies(): Promise<ActivePolicies> {
  preset ??= policiesOf('/nonexistent/policies', () => undefined);
  return preset;
}

function policiesOf(directory: string, changed: () => void): Promise<ActivePolicies> {
  const logger = { ...quiet, child: () => logger };
  return createActivePolicies({
    directory,
    preset: 'coding',
    config: EVERYTHING_LISTED,
    clock: systemClock,
    logger,
    recordChange: () => undefined,
    changed,
  });
}

function newRoot(): string {
  const root = mkdtempSync(join(tmpdir(), 'palyra-gateway-'));
  mkdirSync(join(root, 'work'));
  return root;
}

export function removeHouse(root: string): void {
  rmSync(root, { recursive: true, force: true });
}
