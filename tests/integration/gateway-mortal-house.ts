import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { APPROVAL_MIGRATIONS, type Approvals, approvalPrograms, type Decider, openApprovals } from '@palyra/approvals';
import {
  commitWithJournal,
  createApprovalRecord,
  createCatalog,
  createGateway,
  DEFAULT_TOOL_CALL_CONFIG,
  GATEWAY_MIGRATIONS,
  type Gateway,
  type Tool,
} from '@palyra/gateway';
import {
  type CallerDraft,
  JOURNAL_MIGRATIONS,
  type Journal,
  journalPrograms,
  openJournal,
  openJournalKeys,
  parseActor,
  verifyHome,
} from '@palyra/journal';
import { compilePolicies, EVERYTHING_LISTED, loadPolicies, type PolicyEngine, type PolicySet } from '@palyra/policy';
import { createIdSource } from '@palyra/primitives';
import { type Database, type DatabaseOptions, openDatabase, openForReading } from '@palyra/storage';
import type { FakeClock, FakeCredentials } from '@palyra/testkit';
import { type Fuse, LIMITS, MOST_CALLS, type PolicyName, TIMEOUT_MS } from './gateway-model.ts';

/** What is there before any process, and outlives all of them. */
export interface Ground {
  readonly clock: FakeClock;
  readonly credentials: FakeCredentials;
  readonly ada: Decider;
  readonly location: DatabaseOptions['location'];
  readonly database: Database<never>;
  /** Of somebody who looks on: it reads what is durable, and nothing that dies takes it along. */
  readonly journal: Journal;
  readonly keyDirectory: string;
  readonly policies: Readonly<Record<PolicyName, Policies>>;
  verdict(): Promise<string>;
  close(): Promise<void>;
}

interface Policies extends PolicyEngine {
  readonly set: PolicySet;
}

/** A process with all but its listeners, which can die at any commit. */
export interface MortalHouse {
  readonly gateway: Gateway;
  readonly approvals: Approvals;
  arm(fuse: Fuse): void;
  /** Whether the fuse has burnt down. */
  readonly isDead: boolean;
  /** How many things are being looked up or written for calls. */
  readonly busy: number;
  /** As a kill: what was committed stays, what was not never is, and nobody is told anything. */
  kill(): void;
}

export const WORKSPACE = { id: 'work', root: '/srv/work' } as const;

const RULES: Readonly<Partial<Record<PolicyName, string>>> = {
  strict: '@id("none")\nforbid (principal, action, resource == Palyra::Tool::"test.asked");\n',
  loose:
    '@id("any")\npermit (principal, action == Palyra::Action::"tool.execute", resource == Palyra::Tool::"test.asked");\n',
};

export async function openGround(
  clock: FakeClock,
  credentials: FakeCredentials,
  at?: DatabaseOptions['location'],
): Promise<Ground> {
  const root = mkdtempSync(join(tmpdir(), 'palyra-gateway-'));
  const location = at ?? ({ kind: 'sqlite', path: join(root, 'palyra.db') } as const);
  const keyDirectory = join(root, 'identity');
  const database = await openAt(location, keyDirectory);
  const journal = await openJournal({ database, keyDirectory, bodyDirectory: undefined, clock });
  const plain = await policiesOf('plain');
  const broken = await policiesOf('plain');
  broken.close();
  const [strict, loose] = [await policiesOf('strict'), await policiesOf('loose')];
  return {
    clock,
    credentials,
    ada: credentials.issue('ada laptop', { person: 'user:ada', device: createIdSource().newId('device') }),
    location,
    database,
    journal,
    keyDirectory,
    policies: { plain, strict, loose, broken },
    async verdict() {
      const reader = await openForReading<never>({ location, lockTimeoutMs: 5000 });
      const rootKey = openJournalKeys(keyDirectory).root().publicKey;
      const pins = { rootKey, witnesses: [], checkpoints: [] };
      const report = await verifyHome({ database: reader, bodyDirectory: undefined, pins });
      await reader.close();
      return report.kind === 'broken' ? JSON.stringify(report) : report.kind;
    },
    async close() {
      for (const each of [plain, strict, loose]) each.close();
      await database.close();
      rmSync(root, { recursive: true });
    },
  };
}

/** The same ground by connections of its own, as another node has it. */
export async function openAnother(ground: Ground): Promise<Ground> {
  const database = await openAt(ground.location, ground.keyDirectory);
  return { ...ground, database, close: () => database.close() };
}

function openAt(location: DatabaseOptions['location'], keyDirectory: string): Promise<Database<never>> {
  return openDatabase({
    location,
    migrations: [...JOURNAL_MIGRATIONS, ...APPROVAL_MIGRATIONS, ...GATEWAY_MIGRATIONS],
    programs: [...journalPrograms(keyDirectory), ...approvalPrograms()],
    lockTimeoutMs: 5000,
    logger: { error: () => undefined },
  });
}

async function policiesOf(name: PolicyName): Promise<Policies & { close(): void }> {
  const text = RULES[name];
  const files = text === undefined ? [] : [{ name: 'rules.cedar', text, origin: { kind: 'operator' } as const }];
  const compiled = compilePolicies({ preset: 'coding', files });
  const loaded = await loadPolicies(compiled);
  const engine = loaded.engine(EVERYTHING_LISTED);
  return { set: compiled.set, decide: (request) => engine.decide(request), close: () => loaded.close() };
}

export interface HouseNeeds {
  readonly tools: readonly Tool[];
  /** Which policies decide right now. */
  policy(): PolicyName;
  readonly owner: string;
}

export async function openMortalHouse(ground: Ground, { tools, policy, owner }: HouseNeeds): Promise<MortalHouse> {
  const { clock, credentials, policies, keyDirectory } = ground;
  const thread = threadOfLife();
  const database = cutOff(ground.database, thread);
  const whole = await openJournal({ database, keyDirectory, bodyDirectory: undefined, clock });
  const journal: Journal = {
    ...whole,
    append: (...args) => thread.during(() => thread.pass(kindOf(args[1]), () => whole.append(...args))),
    attest: (...args) => thread.during(() => thread.pass('attestation', () => whole.attest(...args))),
  };
  const approvals = await openApprovals({
    database,
    clock,
    origin: journal.origin,
    verify: credentials.verify,
    limits: LIMITS,
    commit: commitWithJournal(journal, parseActor('daemon:palyrad')),
    ...createApprovalRecord(journal),
  });
  const config = { ...DEFAULT_TOOL_CALL_CONFIG, maxCallsPerRun: MOST_CALLS, executionTimeoutMs: TIMEOUT_MS };
  const gateway = createGateway({
    database,
    journal,
    clock,
    config,
    owner,
    approvals: {
      ...approvals,
      covering: (question) => thread.during(() => approvals.covering(question)),
      ask: (question) => thread.during(() => approvals.ask(question)),
      verifyForRun: (question, id) => thread.during(() => approvals.verifyForRun(question, id)),
    },
    policy: { decide: (request) => policies[policy()].decide(request), current: () => policies[policy()].set },
    catalog: createCatalog(tools),
  });
  return {
    gateway,
    approvals,
    arm: thread.arm,
    get isDead() {
      return thread.isCut;
    },
    get busy() {
      return thread.busy;
    },
    kill() {
      thread.cut();
      // Nothing that it says of this is recorded any more; only its timers are stopped.
      approvals.close();
    },
  };
}

interface ThreadOfLife {
  readonly isCut: boolean;
  readonly busy: number;
  during<Outcome>(act: () => Promise<Outcome>): Promise<Outcome>;
  arm(fuse: Fuse): void;
  cut(): void;
  pass<Outcome extends { readonly kind: string }>(at: string, act: () => Promise<Outcome>): Promise<Outcome>;
}

function threadOfLife(): ThreadOfLife {
  let life: 'alive' | 'dying' | 'dead' = 'alive';
  let fuse: Fuse | undefined;
  let busy = 0;
  const cut = () => {
    life = 'dead';
  };
  return {
    get isCut() {
      return life === 'dead';
    },
    get busy() {
      return busy;
    },
    async during(act) {
      busy += 1;
      try {
        return await act();
      } finally {
        busy -= 1;
      }
    },
    arm(set) {
      fuse = set;
    },
    cut,
    async pass(at, act) {
      if (life !== 'alive') return never();
      if (fuse?.at !== at) return orNever(await act());
      if (fuse.when === 'before') cut();
      if (life !== 'alive') return never();
      life = 'dying';
      const outcome = await act();
      life = 'alive';
      // Nothing was written, so this is not where it dies.
      if (outcome.kind === 'conflict') return outcome;
      cut();
      return never();
    },
  };

  function orNever<Outcome>(outcome: Outcome): Outcome | Promise<Outcome> {
    return life === 'dead' ? never() : outcome;
  }
}

function never<Outcome>(): Promise<Outcome> {
  return new Promise(() => undefined);
}

/** Only what it writes: what the dead read changes nothing. */
function cutOff(database: Database<never>, thread: ThreadOfLife): Database<never> {
  return {
    ...database,
    async commit(unit) {
      if (thread.isCut) return never();
      const outcome = await database.commit(unit);
      return thread.isCut ? never() : outcome;
    },
  };
}

/** An intent comes with its decision, and with what it uses up. */
function kindOf(drafts: readonly CallerDraft[]): string {
  const kinds = drafts.map(({ kind }) => kind);
  return (['intent', 'decision'] as const).find((kind) => kinds.includes(kind)) ?? kinds[0] ?? '';
}
