import {
  APPROVAL_MIGRATIONS,
  type ApprovalEvent,
  type Approvals,
  type ApprovalsDeps,
  type ApprovalsSchema,
  approvalPrograms,
  type CommitWithRecord,
  openApprovals,
  type Permit,
  type PermitOutcome,
  promptDigest,
} from '@palyra/approvals';
import { type Clock, systemClock } from '@palyra/primitives';
import {
  type Database,
  type DatabaseOptions,
  type Migration,
  openDatabase,
  type Step,
  statement,
} from '@palyra/storage';
import { createFakeCredentials, type FakeCredentials } from '../fake-credentials.ts';

/** Beside the tables of approvals, for what the gateway writes when a call begins. */
export interface ApprovalsHomeSchema extends ApprovalsSchema {
  readonly intents: { readonly key: string; readonly approval_id: string };
  /** What the journal has as used up, revoked, or ended without a yes. */
  readonly spent: { readonly id: string };
  /** What the journal has as asked. */
  readonly asked: { readonly id: string; readonly prompt: string };
}

const INTENTS: Migration = {
  id: 'intents/0001-intents',
  statements: (t) => [
    `create table intents (key ${t.text} not null, approval_id ${t.text} not null)${t.strict}`,
    `create table spent (id ${t.text} not null)${t.strict}`,
    'create index spent_id on spent (id)',
    `create table asked (id ${t.text} primary key, prompt ${t.text} not null)${t.strict}`,
  ],
};

export interface ApprovalsHome extends AsyncDisposable {
  readonly database: Database<ApprovalsHomeSchema>;
  readonly approvals: Approvals;
  readonly credentials: FakeCredentials;
  readonly clock: Clock;
}

export type ApprovalsHomeOptions = Partial<Omit<ApprovalsDeps, 'database' | 'verify'>> & {
  readonly credentials?: FakeCredentials;
};

export const SAMPLE_ORIGIN = 'palyra/01JTEST0000000000000000000';

/** Opens database and approvals as palyrad does. */
export async function openApprovalsHome(
  location: DatabaseOptions['location'],
  { credentials = createFakeCredentials(), ...options }: ApprovalsHomeOptions = {},
): Promise<ApprovalsHome> {
  const database = await openDatabase<ApprovalsHomeSchema>({
    location,
    migrations: [...APPROVAL_MIGRATIONS, INTENTS],
    programs: approvalPrograms(),
    lockTimeoutMs: 5_000,
    logger: { error: () => undefined },
  });
  const approvals = await openApprovals({
    origin: SAMPLE_ORIGIN,
    ...recordInTables(database),
    ...options,
    database,
    verify: credentials.verify,
  });
  return {
    database,
    approvals,
    credentials,
    clock: options.clock ?? systemClock,
    async [Symbol.asyncDispose]() {
      approvals.close();
      await database.close();
    },
  };
}

/** What the gateway does: the permit is used up in the unit that records the intent. False: it is gone, or too late. */
export async function usePermit(
  { database, clock }: Pick<ApprovalsHome, 'database' | 'clock'>,
  permit: Permit,
  key: string = 'a call',
): Promise<boolean> {
  const { steps, events, notifications, approvalIds } = permit;
  if (permit.notAfter <= clock.now()) return false;
  const intents = approvalIds.map((approval_id) => ({ key, approval_id }));
  const record = statement(database.write.insertInto('intents').values(intents), { rows: intents.length });
  const all = [...steps, record, ...recordEvents(database, events)];
  return (await database.commit({ steps: all, notifications })).kind === 'committed';
}

/** What `openApprovals` is given instead of a journal. */
export function recordInTables(database: Database<ApprovalsHomeSchema>): Pick<ApprovalsDeps, 'isSpent' | 'wasAsked'> & {
  readonly commit: CommitWithRecord;
} {
  return {
    commit: ({ steps, notifications = [] }, events) =>
      database.commit({ steps: [...steps, ...recordEvents(database, events)], notifications }),
    async isSpent(id) {
      const found = await database.read.selectFrom('spent').select('id').where('id', '=', id).executeTakeFirst();
      return found !== undefined;
    },
    async wasAsked(id, prompt) {
      const query = database.read.selectFrom('asked').select('id').where('id', '=', id).where('prompt', '=', prompt);
      return (await query.executeTakeFirst()) !== undefined;
    },
  };
}

/** Stands for the journal's entries, which nobody can set back. */
function recordEvents(database: Database<ApprovalsHomeSchema>, events: readonly ApprovalEvent[]): readonly Step[] {
  const ids = events.flatMap((event): readonly string[] => {
    const isOver =
      event.kind === 'used' ||
      (event.kind === 'grant' && event.change === 'revoked') ||
      (event.kind === 'decided' && event.outcome !== 'approved');
    return isOver ? [event.approvalId] : [];
  });
  const asked = events.flatMap((event) =>
    event.kind === 'requested' ? [{ id: event.approvalId, prompt: promptDigest(event.prompt) }] : [],
  );
  return [
    ...ids.map((id) => statement(database.write.insertInto('spent').values({ id }), { rows: 1 })),
    ...asked.map((each) => statement(database.write.insertInto('asked').values(each), { rows: 1 })),
  ];
}

/** Throws for a refusal. */
export function requirePermit(outcome: PermitOutcome): Permit {
  if (outcome.kind === 'permitted') return outcome;
  throw new Error(`Refused: ${outcome.reason}`);
}
