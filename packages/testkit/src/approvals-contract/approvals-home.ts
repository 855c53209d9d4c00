import {
  APPROVAL_MIGRATIONS,
  type Approvals,
  type ApprovalsDeps,
  type ApprovalsSchema,
  approvalPrograms,
  openApprovals,
  type Permit,
  type PermitOutcome,
} from '@palyra/approvals';
import { type Database, type DatabaseOptions, type Migration, openDatabase, statement } from '@palyra/storage';
import { createFakeCredentials, type FakeCredentials } from '../fake-credentials.ts';

/** Beside the tables of approvals, for what the gateway writes when a call begins. */
export interface ApprovalsHomeSchema extends ApprovalsSchema {
  readonly intents: { readonly key: string; readonly approval_id: string };
}

const INTENTS: Migration = {
  id: 'intents/0001-intents',
  statements: (t) => [`create table intents (key ${t.text} not null, approval_id ${t.text} not null)${t.strict}`],
};

export interface ApprovalsHome extends AsyncDisposable {
  readonly database: Database<ApprovalsHomeSchema>;
  readonly approvals: Approvals;
  readonly credentials: FakeCredentials;
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
  const approvals = await openApprovals({ origin: SAMPLE_ORIGIN, ...options, database, verify: credentials.verify });
  return {
    database,
    approvals,
    credentials,
    async [Symbol.asyncDispose]() {
      approvals.close();
      await database.close();
    },
  };
}

/** What the gateway does: the permit is used up in the unit that records the intent. False: somebody was faster. */
export async function usePermit(
  { database }: Pick<ApprovalsHome, 'database'>,
  permit: Permit,
  key: string = 'a call',
): Promise<boolean> {
  const { steps, notifications, approvalIds } = permit;
  const intents = approvalIds.map((approval_id) => ({ key, approval_id }));
  const record = statement(database.write.insertInto('intents').values(intents), { rows: intents.length });
  return (await database.commit({ steps: [...steps, record], notifications })).kind === 'committed';
}

/** Throws for a refusal. */
export function requirePermit(outcome: PermitOutcome): Permit {
  if (outcome.kind === 'permitted') return outcome;
  throw new Error(`Refused: ${outcome.reason}`);
}
