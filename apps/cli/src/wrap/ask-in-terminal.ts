import type { Client, PendingApproval } from '@palyra/client';
import type { HomeLayout } from '@palyra/config';
import { systemClock } from '@palyra/primitives';
import type { CommandContext } from '../command.ts';
import { answerInWords, answerQuestion, openSigner } from '../questions/answer-question.ts';
import { createInbox, type Inbox } from '../questions/inbox-loop.ts';
import { readPrompt } from '../questions/shown-prompt.ts';
import { singleKey } from '../questions/single-keys.ts';
import { choosePaint } from '../render/paint.ts';
import { createAgentScreen } from './agent-screen.ts';

/** Questions of one session in the terminal that its agent has. */
export interface TerminalQuestions {
  /** While a question stands there: resolves when it is gone, and the next one may stand there then. */
  held(): Promise<void> | undefined;
  /** What the agent has put on the screen. */
  saw(bytes: Uint8Array): void;
  /** How many were asked in the session, wherever they were answered: also those about a connection of a call that ran already. */
  asked(): number;
  /** True: what was typed was for a question. */
  take(bytes: Uint8Array): boolean;
  close(): Promise<void>;
}

export interface AskDeps {
  readonly home: HomeLayout;
  readonly session: string;
  readonly context: CommandContext;
  /** Has the agent draw its screen anew. */
  redraw(): void;
}

/**
 * While a question stands, the agent's output waits and its keyboard is ours; the answer is signed with the operator's key, as
 * in `palyra inbox`. Answered elsewhere it goes away by itself. Undefined where this terminal has no operator's credential.
 */
export async function askInTerminal(deps: AskDeps): Promise<TerminalQuestions | undefined> {
  const { context, home, session } = deps;
  const { connect } = await import('@palyra/client');
  const client = await connect({ home: home.root, as: 'operator' }).catch(() => undefined);
  if (client === undefined) return undefined;
  const watching = new AbortController();
  const screen = createAgentScreen();
  const open = new Map<string, PendingApproval>();
  const passedOver = new Set<string>();
  const asked = new Set<string>();
  let shown: ShownQuestion | undefined;

  const showNext = () => {
    const next = [...open.values()].find(({ approval_id: id }) => !passedOver.has(id));
    if (shown !== undefined || next === undefined || watching.signal.aborted) return;
    const over = Promise.withResolvers<void>();
    const { stdout } = context.openOutput();
    stdout.write(screen.begin(stdout.rows ?? 24));
    const leave = () => {
      if (shown?.over !== over.promise) return;
      passedOver.add(next.approval_id);
      shown = undefined;
      stdout.write(screen.end());
      over.resolve();
      deps.redraw();
      showNext();
    };
    const box = inboxFor(next, { ...deps, client, leave });
    shown = { id: next.approval_id, sha256: next.prompt_sha256, over: over.promise, take: box.take, leave };
    box.show();
  };
  const hear = async () => {
    for await (const change of client.approvals.watch({ signal: watching.signal })) {
      if (change.kind !== 'approval' || change.approval.session_id !== session) continue;
      const { approval } = change;
      const { approval_id: id, prompt_sha256: sha256 } = approval;
      asked.add(id);
      const isOpen = approval.state === 'pending';
      if (isOpen) open.set(id, approval);
      else open.delete(id);
      // SECURITY: T-46 — what is signed is what was shown: a question that changes under the same id is shown anew.
      if (shown?.id === id && (!isOpen || shown.sha256 !== sha256)) {
        if (isOpen) passedOver.delete(id);
        shown.leave();
        if (isOpen) passedOver.delete(id);
      }
      showNext();
    }
  };
  const heard = hear().catch(() => undefined);
  return {
    held: () => shown?.over,
    saw: (bytes) => screen.saw(bytes),
    asked: () => asked.size,
    take(bytes) {
      shown?.take(bytes);
      return shown !== undefined;
    },
    async close() {
      watching.abort();
      await heard;
      client.close();
    },
  };
}

/** Lets the agent write. SECURITY: T-08 — not while a question stands, be it the one behind the one that it waited for. */
export async function betweenQuestions(
  questions: Pick<TerminalQuestions, 'held'> | undefined,
  write: () => Promise<void>,
): Promise<void> {
  for (let held = questions?.held(); held !== undefined; held = questions?.held()) await held;
  // In the same turn as the look.
  await write();
}

interface ShownQuestion {
  readonly id: string;
  readonly sha256: string;
  readonly over: Promise<void>;
  take(bytes: Uint8Array): void;
  leave(): void;
}

interface InboxDeps extends AskDeps {
  readonly client: Client;
  leave(): void;
}

/** One question, whole, and a key to answer it. */
function inboxFor(shown: PendingApproval, { context, client, home, leave }: InboxDeps) {
  const { stdout } = context.openOutput();
  let reason: { typed: string; done(text: string): void } | undefined;
  let isAnswered = false;
  // In raw mode a line end is only half of one.
  const write = (text: string) => {
    // What an inbox says when nothing is open is of no use here: the agent goes on.
    if (!isAnswered) stdout.write(text.replaceAll(/\r?\n/g, '\r\n'));
  };
  const box: Inbox = createInbox({
    write,
    paint: choosePaint({ isTerminal: true, variables: context.variables }),
    columns: () => stdout.columns ?? 80,
    now: systemClock.now,
    async answer(_question, answer) {
      const signer = await openSigner(home);
      const said = answerInWords(await answerQuestion(client, { shown, answer, signer }));
      write(`${said}\n`);
      isAnswered = true;
      setImmediate(leave);
      return said;
    },
    askReason() {
      write('Why? ');
      return new Promise((resolve) => {
        reason = { typed: '', done: resolve };
      });
    },
  });
  void box.left.then(leave);
  const { approval_id: id, prompt, waiting, votes } = shown;
  return {
    show: () => box.take({ id, isOpen: true, prompt: readPrompt(prompt), waiting, votes }),
    take(bytes: Uint8Array) {
      if (reason !== undefined) {
        reason = typeReason(reason, Buffer.from(bytes).toString(), write);
        return;
      }
      const key = singleKey(bytes);
      if (key === undefined) box.disturb();
      else box.press(key);
    },
  };
}

interface Reason {
  readonly typed: string;
  done(text: string): void;
}

/** A line, typed without a terminal's help. Undefined when it is said. */
function typeReason({ typed, done }: Reason, text: string, write: (text: string) => void): Reason | undefined {
  let line = typed;
  for (const letter of text) {
    if (letter === '\r' || letter === '\n') {
      write('\n');
      done(line);
      return undefined;
    }
    if (letter === '\u007f' || letter === '\b') {
      if (line !== '') write('\b \b');
      line = line.slice(0, -1);
    } else if (letter >= ' ') {
      line += letter;
      write(letter);
    }
  }
  return { typed: line, done };
}
