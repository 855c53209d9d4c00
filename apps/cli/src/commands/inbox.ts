import type { PendingApproval } from '@palyra/client';
import { systemClock } from '@palyra/primitives';
import type { CommandContext, CommandDefinition, CommandResult } from '../command.ts';
import { answerInWords, answerQuestion, openSigner } from '../questions/answer-question.ts';
import { createInbox, type InboxQuestion } from '../questions/inbox-loop.ts';
import { readPrompt } from '../questions/shown-prompt.ts';
import { singleKey } from '../questions/single-keys.ts';
import { linesFromDaemon, type Reached, withDaemon } from '../reach-daemon.ts';
import { renderJson } from '../render/json.ts';
import { choosePaint } from '../render/paint.ts';
import { safeText } from '../render/safe-text.ts';
import { renderTable } from '../render/table.ts';

/** Questions as they come, and one key to answer each. */
export const inbox: CommandDefinition = {
  name: 'inbox',
  group: 'Questions',
  summary: 'Answer questions as they come',
  details:
    'At a terminal: each question is shown whole, and a key answers it: o once, s session, t for a time, a always here, ' +
    'd deny, r deny with a reason, n next, q leave. With --json: one line for each question that opens, changes or ends. ' +
    'Else: what is open now.',
  async run(_input, context) {
    if (context.asJson) {
      const stream = linesFromDaemon(context, 'operator', (reached) => linesOf(reached, context));
      return { json: null, render: () => '', stream };
    }
    return withDaemon(context, 'operator', async (reached) => {
      const keyboard = context.openStdin() as Keyboard;
      const { stdout } = context.openOutput();
      if (keyboard.isTTY !== true || stdout.isTTY !== true) return listed(reached, context);
      await answerAtKeyboard(reached, keyboard, context);
      return { json: null, render: () => '' };
    });
  },
};

type Keyboard = ReturnType<CommandContext['openStdin']> & {
  readonly isTTY?: boolean;
  setRawMode?(on: boolean): unknown;
};

async function answerAtKeyboard({ client, home }: Reached, keyboard: Keyboard, context: CommandContext): Promise<void> {
  const { stdout } = context.openOutput();
  const signer = await openSigner(home);
  const shownAs = new Map<string, PendingApproval>();
  const raw = (on: boolean) => keyboard.setRawMode?.(on);
  const box = createInbox({
    write: (text) => stdout.write(text),
    paint: choosePaint({ isTerminal: true, variables: context.variables }),
    columns: () => stdout.columns ?? 80,
    now: systemClock.now,
    async answer({ id }, answer) {
      const shown = shownAs.get(id);
      if (shown === undefined) throw new Error('The question is gone.');
      return answerInWords(await answerQuestion(client, { shown, answer, signer }));
    },
    async askReason() {
      raw(false);
      keyboard.off('data', pressed);
      try {
        return (await context.terminal?.ask('Why? ')) ?? '';
      } finally {
        keyboard.on('data', pressed);
        raw(true);
        keyboard.resume();
      }
    },
  });
  const pressed = (bytes: Uint8Array) => {
    const key = singleKey(bytes);
    if (key === undefined) box.disturb();
    else box.press(key);
  };
  const watching = new AbortController();
  const stop = () => watching.abort();
  context.signal.addEventListener('abort', stop, { once: true });
  raw(true);
  keyboard.on('data', pressed);
  stdout.write('Questions of agents appear here. q leaves.\n');
  try {
    const watched = watchInto(client, { shownAs, take: box.take, signal: watching.signal });
    await Promise.race([box.left, watched]);
  } finally {
    stop();
    keyboard.off('data', pressed);
    raw(false);
    keyboard.pause();
  }
}

interface WatchTarget {
  readonly shownAs: Map<string, PendingApproval>;
  take(question: InboxQuestion): void;
  readonly signal: AbortSignal;
}

async function watchInto(client: Reached['client'], { shownAs, take, signal }: WatchTarget): Promise<void> {
  for await (const change of client.approvals.watch({ signal })) {
    if (change.kind !== 'approval') continue;
    const { approval } = change;
    const isOpen = approval.state === 'pending';
    // SECURITY: T-46 — what is signed is what was shown: a question that changes under the same id is shown anew.
    const before = shownAs.get(approval.approval_id);
    if (isOpen && before !== undefined && before.prompt_sha256 !== approval.prompt_sha256)
      take(questionOf(before, false));
    if (isOpen) shownAs.set(approval.approval_id, approval);
    take(questionOf(approval, isOpen));
  }
}

function questionOf({ approval_id: id, prompt, waiting, votes }: PendingApproval, isOpen: boolean): InboxQuestion {
  return { id, isOpen, prompt: readPrompt(prompt), waiting, votes };
}

async function* linesOf({ client }: Reached, { signal }: CommandContext): AsyncGenerator<string> {
  for await (const change of client.approvals.watch({ signal })) yield renderJson(change);
}

async function listed({ client }: Reached, context: CommandContext): Promise<CommandResult> {
  const approvals = await client.approvals.list();
  const rows = approvals.map(({ approval_id: id, prompt, expires_at: until = '' }) => {
    const { what } = readPrompt(prompt);
    return [id.slice(-6), what.risk.level, until.slice(11, 16), safeText(what.sentence)];
  });
  return {
    json: { approvals },
    render: (paint) =>
      rows.length === 0
        ? 'No question is open.\n'
        : renderTable(['ID', 'RISK', 'UNTIL', 'WHAT'], rows, { paint, columns: context.columns() }),
  };
}
