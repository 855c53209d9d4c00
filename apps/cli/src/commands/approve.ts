import type { ApprovalAnswer, Client, PendingApproval } from '@palyra/client';
import { systemClock } from '@palyra/primitives';
import { CliError } from '../cli-error.ts';
import type { CommandContext, CommandDefinition } from '../command.ts';
import { durationOf } from '../option-values.ts';
import { answerInWords, answerQuestion, openSigner } from '../questions/answer-question.ts';
import { renderQuestion } from '../questions/render-question.ts';
import { readPrompt, type Scope } from '../questions/shown-prompt.ts';
import { withRunningDaemon } from '../reach-daemon.ts';
import { plainPaint } from '../render/paint.ts';

const SCOPES: readonly Scope[] = ['once', 'session', 'timeboxed', 'always'];

/** One answer, to a question that was shown whole. */
export const approve: CommandDefinition = {
  name: 'approve',
  group: 'Questions',
  summary: 'Say yes to a question, after showing it',
  details:
    'Shows the whole question and asks whether you mean it; --yes leaves that out, for those who have read it elsewhere. ' +
    'Signs with your own credential, which no agent may use.',
  arguments: [{ name: 'ID', summary: 'The question; the only open one unless told', isRequired: false }],
  options: [
    { flags: '--scope <SCOPE>', summary: 'once (the default), session, timeboxed or always' },
    { flags: '--ttl <TIME>', summary: 'Of timeboxed: how long, such as 2h' },
    { flags: '--yes', summary: 'Do not ask' },
  ],
  async run({ arguments: [id], options }, context) {
    if (id === undefined && options['yes'] === true) {
      // SECURITY: T-08 — the only open question may be another one by now than the one that somebody read.
      throw new CliError('cli.missing_argument', 'With --yes the question has to be named.', {
        fix: 'palyra inbox shows it with its id.',
      });
    }
    const scope = scopeOf(options['scope']);
    const ttlMs = durationOf(options['ttl'], '--ttl');
    const answer: ApprovalAnswer = { decision: 'approve', scope, ...(ttlMs === undefined ? {} : { ttlMs }) };
    return answerOne(id, { answer, isSure: options['yes'] === true }, context);
  },
};

export const deny: CommandDefinition = {
  name: 'deny',
  group: 'Questions',
  summary: 'Say no to a question',
  arguments: [{ name: 'ID', summary: 'The question; the only open one unless told', isRequired: false }],
  options: [{ flags: '--reason <TEXT>', summary: 'Why; the agent is told' }],
  async run({ arguments: [id], options }, context) {
    const { reason } = options;
    const answer: ApprovalAnswer = { decision: 'deny', ...(typeof reason === 'string' ? { reason } : {}) };
    return answerOne(id, { answer, isSure: true }, context);
  },
};

interface GivenAnswer {
  readonly answer: ApprovalAnswer;
  readonly isSure: boolean;
}

async function answerOne(id: string | undefined, { answer, isSure }: GivenAnswer, context: CommandContext) {
  return withRunningDaemon(context, 'operator', async ({ client, home }) => {
    const shown = id === undefined ? await onlyOne(client) : await client.approvals.get(id);
    const prompt = readPrompt(shown.prompt);
    if (answer.decision === 'approve' && !prompt.options.some(({ scope }) => scope === answer.scope)) {
      const offered = prompt.options.map(({ scope }) => scope).join(', ');
      throw new CliError('cli.answer_refused', `This question cannot be answered with ${answer.scope}.`, {
        fix: `It offers: ${offered}.`,
      });
    }
    if (!isSure) await askWhetherMeant(shown, context);
    const recorded = await answerQuestion(client, { shown, answer, signer: await openSigner(home) });
    return {
      json: { approval_id: shown.approval_id, decision: answer.decision, ...recorded },
      render: () => `${answerInWords(recorded)}\n`,
    };
  });
}

/** SECURITY: T-08 — nobody says yes to what they were not shown: without a person there has to be --yes. */
async function askWhetherMeant(shown: PendingApproval, context: CommandContext): Promise<void> {
  const { waiting, votes } = shown;
  const view = { prompt: readPrompt(shown.prompt), waiting, votes, now: systemClock.now() };
  const columns = context.columns() ?? 80;
  context.terminal?.show(renderQuestion({ ...view, columns }, plainPaint));
  const answer = await context.terminal?.ask('Approve it? Type yes: ');
  if (answer?.trim().toLowerCase() === 'yes') return;
  throw new CliError('cli.not_confirmed', 'It was not approved; the question stays open.', {
    fix: 'Type yes, or give --yes when you have read it elsewhere.',
  });
}

async function onlyOne(client: Client): Promise<PendingApproval> {
  const [only, another] = await client.approvals.list({ limit: 2 });
  if (only === undefined) {
    throw new CliError('cli.not_found', 'No question is open.', { fix: 'palyra log shows what happened.' });
  }
  if (another === undefined) return only;
  throw new CliError('cli.ambiguous_id', 'Several questions are open.', {
    fix: 'Name one; palyra inbox shows them.',
  });
}

function scopeOf(typed: unknown): Scope {
  if (typed === undefined) return 'once';
  const scope = SCOPES.find((each) => each === typed);
  if (scope !== undefined) return scope;
  throw new CliError('cli.invalid_option', `--scope takes ${SCOPES.join(', ')}.`, { fix: 'Leave it out for once.' });
}
