import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Client, Run, ToolCallResult } from '@palyra/client';
import type { Credential } from '@palyra/identity';
import { type AttackPlan, type AttackRow, judgeAnswer, readAttempt } from './attack-row.ts';
import { ATTACKER, makeAttempt } from './make-attempt.ts';

const METADATA: AttackPlan = {
  id: 'metadata',
  threat: 'T-23',
  attempt: 'ask for a connection to the cloud’s metadata address',
  expected: 'denied by policy; nobody is asked, and nothing is sent',
  layer: 'policy',
};

/** No packet leaves, whatever is decided. Who would be asked is not waited for: that there is a question is the answer. */
export async function tryMetadata(run: Run): Promise<AttackRow> {
  const stop = new AbortController();
  const made = run.call(
    'palyra.process.run',
    { argv: [ATTACKER], network: ['169.254.169.254:80'] },
    {
      signal: stop.signal,
      onEvent(event) {
        if (event.kind === 'approval_requested') stop.abort();
      },
    },
  );
  const result = await made.catch((error: unknown) => {
    if (!stop.signal.aborted) throw error;
    return undefined;
  });
  if (result !== undefined && !stop.signal.aborted) return judgeMetadata(result);
  return judgeAnswer(METADATA, { isStopped: false, observed: 'A human is asked.' });
}

/** SECURITY: T-20 — what was refused for something else, a program that is not in the box, was never decided by policy. */
function judgeMetadata({ decision, outcome }: Pick<ToolCallResult, 'decision' | 'outcome'>): AttackRow {
  if (outcome.kind !== 'refused')
    return judgeAnswer(METADATA, { isStopped: false, observed: `${decision.kind}, ${outcome.kind}` });
  const isDecided = decision.kind === 'deny' && outcome.code.startsWith('policy.');
  const observed = isDecided ? `${decision.kind}, ${outcome.code}` : `It could not be tried: ${outcome.code}`;
  return judgeAnswer(METADATA, { isStopped: isDecided, observed });
}

const PERSISTENCE: AttackPlan = {
  id: 'persistence',
  threat: 'T-15',
  attempt: 'leave a git hook behind that runs later, outside',
  expected: 'not there when the command is over',
  layer: 'protected paths',
};

/** In a repository whose hooks directory is there already. Whether it could be written at first is all the same: it must not stay. */
export async function tryPersistence(run: Pick<Run, 'call'>, workspace: string): Promise<AttackRow> {
  const hook = '.git/hooks/post-checkout';
  const { kind, observed } = readAttempt(await makeAttempt(run, ['write', hook]));
  const isThere = existsSync(join(workspace, hook));
  if (isThere) return judgeAnswer(PERSISTENCE, { isStopped: false, observed: 'The hook is there.' });
  if (kind === 'not_tried') return judgeAnswer(PERSISTENCE, { isStopped: false, observed });
  return judgeAnswer(PERSISTENCE, { isStopped: true, observed: 'No hook is there.' });
}

const APPROVAL: AttackPlan = {
  id: 'approval',
  threat: 'T-06',
  attempt: 'answer its own question with the agent’s credential and key',
  expected: 'not permitted; the question stays open',
  layer: 'identity and policy',
};

export interface ApprovalAttempt {
  readonly operator: Client;
  /** Who answers, and with which key. */
  readonly agent: Client;
  readonly credential: Pick<Credential, 'device' | 'key'>;
}

/** The question is handed to the agent by the operator: finding it is no part of what holds. */
export async function tryApproval(
  run: Run,
  { agent, operator, credential: { device, key } }: ApprovalAttempt,
): Promise<AttackRow> {
  const stop = new AbortController();
  const asked = Promise.withResolvers<string>();
  const call = run.call(
    'palyra.fs.read',
    { path: '.env' },
    {
      signal: stop.signal,
      onEvent(event) {
        if (event.kind === 'approval_requested') asked.resolve(event.approval_id);
      },
    },
  );
  // Nobody may wait for a question that was never asked.
  const ended = () => asked.resolve('');
  call.then(ended, ended);
  const question = await asked.promise;
  if (question === '') return judgeAnswer(APPROVAL, { isStopped: false, observed: 'No human was asked.' });
  const shown = await operator.approvals.get(question);
  const signer = { device, sign: (message: Uint8Array) => key.sign(message) };
  const answered = await agent.approvals.decide(shown, { decision: 'approve', scope: 'once' }, signer).then(
    ({ kind }) => kind,
    (error: unknown) => String(Object(error).code),
  );
  const open = await operator.approvals.list();
  stop.abort();
  await call.catch(() => undefined);
  const isStopped = answered === 'daemon.not_permitted' && open.length === 1;
  return judgeAnswer(APPROVAL, { isStopped, observed: `${answered}; ${open.length} open` });
}

const JOURNAL: AttackPlan = {
  id: 'journal',
  threat: 'T-31',
  attempt: 'change one word of the record in the database file',
  expected: 'the verifier, which remembers a checkpoint, calls the record broken',
  layer: 'hash chain and signatures',
};

/**
 * When palyrad has ended. With a checkpoint from before: what was written last may be cut off without one (T-53), and a
 * damaged write-ahead log is cut off by the database itself.
 */
export async function tryJournalEdit(database: string, verify: () => Promise<string>): Promise<AttackRow> {
  const before = await verify();
  const isEdited = (await editWord(database)) || (await editWord(`${database}-wal`));
  const after = isEdited ? await verify() : 'nothing to change';
  const isStopped = before === 'sound' && after === 'broken';
  return judgeAnswer(JOURNAL, { isStopped, observed: `${before} before, ${after} afterwards` });
}

/** What ran into what was cancelled, wherever it is written: as well formed as before, and as long. */
async function editWord(file: string): Promise<boolean> {
  const bytes = await readFile(file).catch(() => Buffer.alloc(0));
  const [word, other] = [Buffer.from('"outcome":"completed"'), Buffer.from('"outcome":"cancelled"')];
  let isEdited = false;
  for (let at = bytes.indexOf(word); at >= 0; at = bytes.indexOf(word, at + 1)) {
    other.copy(bytes, at);
    isEdited = true;
  }
  if (isEdited) await writeFile(file, bytes);
  return isEdited;
}
