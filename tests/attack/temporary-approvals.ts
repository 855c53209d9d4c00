import { join } from 'node:path';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import type { Asked, DecideOutcome, Decider, DecisionScope, Question } from '@palyra/approvals';
import type { ApprovalId } from '@palyra/primitives';
import {
  type ApprovalsHome,
  type ApprovalsHomeOptions,
  createFakeClock,
  createFakeCredentials,
  createTemporaryHome,
  decideAsShown,
  type FakeClock,
  openApprovalsHome,
} from '@palyra/testkit';

export interface AttackedApprovals extends ApprovalsHome {
  readonly clock: FakeClock;
  readonly ada: Decider;
  readonly bob: Decider;
  /** What somebody does who can write the file. */
  writeRows(sql: string, ...parameters: SQLInputValue[]): void;
  readRow(sql: string, ...parameters: SQLInputValue[]): Record<string, SQLInputValue>;
  /** Another process on the same database. */
  openAgain(options?: ApprovalsHomeOptions): Promise<ApprovalsHome>;
  asked(question: Question): Promise<Asked>;
  approved(question: Question, scope?: DecisionScope): Promise<ApprovalId>;
}

/** Approvals on SQLite with two people who may decide, gone at the end of the block that holds them. */
export async function temporaryApprovals(options: ApprovalsHomeOptions = {}): Promise<AttackedApprovals> {
  const directory = await createTemporaryHome();
  const location = { kind: 'sqlite', path: join(directory.path, 'palyra.db') } as const;
  const clock = createFakeClock();
  const credentials = createFakeCredentials();
  const ada = credentials.issue('ada laptop', { person: 'ada', device: 'laptop' });
  const bob = credentials.issue('bob phone', { person: 'bob', device: 'phone', assurance: 'separate_device' });
  const home = await openApprovalsHome(location, { clock, credentials, ...options });
  const onFile = <Result>(work: (file: DatabaseSync) => Result): Result => {
    const file = new DatabaseSync(location.path, { timeout: 5_000 });
    try {
      return work(file);
    } finally {
      file.close();
    }
  };
  const asked = async (question: Question): Promise<Asked> => {
    const outcome = await home.approvals.ask(question);
    if (outcome.kind === 'refused') throw new Error(outcome.reason);
    return outcome;
  };

  return {
    ...home,
    clock,
    ada,
    bob,
    writeRows: (sql, ...parameters) => onFile((file) => void file.prepare(sql).run(...parameters)),
    readRow: (sql, ...parameters) =>
      onFile((file) => file.prepare(sql).get(...parameters) as Record<string, SQLInputValue>),
    openAgain: (more = {}) => openApprovalsHome(location, { clock, credentials, ...options, ...more }),
    asked,
    async approved(question, scope = 'once') {
      const { approvalId } = await asked(question);
      requireDecided(await decideAsShown(home.approvals, approvalId, { decision: 'approve', scope, by: ada }));
      return approvalId;
    },
    async [Symbol.asyncDispose]() {
      await home[Symbol.asyncDispose]();
      await directory[Symbol.asyncDispose]();
    },
  };
}

function requireDecided(outcome: DecideOutcome): void {
  if (outcome.kind !== 'decided') throw new Error(`Not decided: ${JSON.stringify(outcome)}`);
}
