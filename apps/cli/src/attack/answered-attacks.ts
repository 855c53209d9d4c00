import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Client, Run, ToolCallResult } from '@palyra/client';
import type { CommandContext } from '../command.ts';
import { findHome } from '../find-home.ts';
import { loadIdentity } from '../identity-home.ts';
import { verifyTarget } from '../verify-target.ts';
import { type AttackPlan, type AttackRow, judgeAnswer } from './attack-row.ts';

const METADATA: AttackPlan = {
  id: 'metadata',
  threat: 'T-23',
  attempt: 'ask for a connection to the cloud’s metadata address',
  expected: 'denied by policy; nobody is asked, and nothing is sent',
  layer: 'policy',
};

/** Only planned: no packet leaves, whatever is decided. */
export async function tryMetadata(run: Run): Promise<AttackRow> {
  const result = await run.call('palyra.process.run', { argv: ['true'], network: ['169.254.169.254:80'] });
  return judgeMetadata(result);
}

export function judgeMetadata({ decision, outcome }: Pick<ToolCallResult, 'decision' | 'outcome'>): AttackRow {
  const isStopped = outcome.kind === 'refused' && decision.kind === 'deny';
  return judgeAnswer(METADATA, { isStopped, observed: `${decision.kind}, ${outcome.kind}` });
}

const PERSISTENCE: AttackPlan = {
  id: 'persistence',
  threat: 'T-15',
  attempt: 'leave a git hook behind that runs later, outside',
  expected: 'not there when the command is over',
  layer: 'protected paths',
};

/** In a repository whose hooks directory is there already. */
export async function tryPersistence(run: Run, workspace: string): Promise<AttackRow> {
  const hook = '.git/hooks/post-checkout';
  await run.call('palyra.process.run', { argv: ['/bin/sh', '-c', `echo 'echo planted' >${hook}; chmod +x ${hook}`] });
  return judgePersistence(existsSync(join(workspace, hook)));
}

export function judgePersistence(isThere: boolean): AttackRow {
  return judgeAnswer(PERSISTENCE, {
    isStopped: !isThere,
    observed: isThere ? 'The hook is there.' : 'No hook is there.',
  });
}

const APPROVAL: AttackPlan = {
  id: 'approval',
  threat: 'T-06',
  attempt: 'answer its own question with the agent’s credential and key',
  expected: 'not permitted; the question stays open',
  layer: 'identity and policy',
};

/** The question is handed to the agent by the operator: finding it is no part of what holds. */
export async function tryApproval(
  run: Run,
  { agent, operator, context }: { readonly agent: Client; readonly operator: Client; readonly context: CommandContext },
): Promise<AttackRow> {
  const { openAgentCredential } = await loadIdentity();
  const { device, key } = openAgentCredential(findHome(context).home.identity);
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
  const shown = await operator.approvals.get(await asked.promise);
  const signer = { device, sign: (message: Uint8Array) => key.sign(message) };
  const answered = await agent.approvals.decide(shown, { decision: 'approve', scope: 'once' }, signer).then(
    ({ kind }) => kind,
    (error: unknown) => String(Object(error).code),
  );
  const open = await operator.approvals.list();
  stop.abort();
  await call.catch(() => undefined);
  return judgeApproval(answered, open.length);
}

export function judgeApproval(answered: string, open: number): AttackRow {
  const isStopped = answered === 'daemon.not_permitted' && open === 1;
  return judgeAnswer(APPROVAL, { isStopped, observed: `${answered}; ${open} open` });
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
export async function tryJournalEdit(remembered: string, context: CommandContext): Promise<AttackRow> {
  const input = { pins: { witnesses: [], checkpoints: [remembered] }, start: undefined };
  const before = await verifyTarget(undefined, input, context);
  const { database } = findHome(context).home;
  const isEdited = (await editWord(database)) || (await editWord(`${database}-wal`));
  const after = await verifyTarget(undefined, input, context);
  return judgeJournalEdit(before.report.kind, isEdited ? after.report.kind : 'nothing to change');
}

/** A refusal into something else of the same length, wherever it is written. */
async function editWord(file: string): Promise<boolean> {
  const bytes = await readFile(file).catch(() => Buffer.alloc(0));
  const [word, other] = [Buffer.from('"outcome":"refused"'), Buffer.from('"outcome":"allowed"')];
  let isEdited = false;
  for (let at = bytes.indexOf(word); at >= 0; at = bytes.indexOf(word, at + 1)) {
    other.copy(bytes, at);
    isEdited = true;
  }
  if (isEdited) await writeFile(file, bytes);
  return isEdited;
}

export function judgeJournalEdit(before: string, after: string): AttackRow {
  const isStopped = before === 'sound' && after === 'broken';
  return judgeAnswer(JOURNAL, { isStopped, observed: `${before} before, ${after} afterwards` });
}
