import type { ApprovalAnswer } from '@palyra/client';
import type { Paint } from '../render/paint.ts';
import { safeText } from '../render/safe-text.ts';
import { renderQuestion, SCOPE_NAMES } from './render-question.ts';
import type { Scope, ShownPrompt } from './shown-prompt.ts';

/** One question as the inbox knows it. */
export interface InboxQuestion {
  readonly id: string;
  readonly isOpen: boolean;
  readonly prompt: ShownPrompt;
  readonly waiting: number;
  readonly votes: number;
}

export interface Inbox {
  /** A question opened, changed or ended. */
  take(question: InboxQuestion): void;
  /** A key that a person pressed. */
  press(key: string): void;
  /** Something came that is no key: who reads begins anew. */
  disturb(): void;
  /** Resolves when the person leaves. */
  readonly left: Promise<void>;
}

export interface InboxDeps {
  write(text: string): void;
  readonly paint: Paint;
  columns(): number;
  now(): number;
  /** Says what became of it, in a line. What it throws is shown, and the question stays. */
  answer(question: InboxQuestion, answer: ApprovalAnswer): Promise<string>;
  askReason(): Promise<string>;
}

/**
 * How long a question stands before a key answers it.
 * SECURITY: T-08 — who types while a question appears has not read it.
 */
const READING_MS = 700;

const KEYS: Readonly<Record<string, Scope>> = { o: 'once', s: 'session', t: 'timeboxed', a: 'always' };

/** The oldest question first, whole, and one key to answer it. */
export function createInbox(deps: InboxDeps): Inbox {
  const { write, paint } = deps;
  const open = new Map<string, InboxQuestion>();
  const passedOver = new Set<string>();
  const { promise: left, resolve: leave } = Promise.withResolvers<void>();
  let shown: { readonly question: InboxQuestion; readonly at: number } | undefined;
  let isAnswering = false;
  /** `always` writes a rule for good: it takes the key twice. */
  let isSure = false;

  const showNext = () => {
    const next = [...open.values()].find(({ id }) => !passedOver.has(id));
    isSure = false;
    shown = next === undefined ? undefined : { question: next, at: deps.now() };
    write(next === undefined ? waitingLine(open.size, paint) : questionText(next, open.size, deps));
  };
  const answerShown = async (question: InboxQuestion, answer: ApprovalAnswer) => {
    isAnswering = true;
    try {
      const said = await deps.answer(question, answer);
      open.delete(question.id);
      write(`${paint('fix', '✓')} ${said}\n`);
    } catch (error) {
      write(`${paint('error', '✗')} ${safeText(error instanceof Error ? error.message : String(error))}\n`);
    }
    isAnswering = false;
    showNext();
  };

  return {
    left,
    take(question) {
      const isNew = !open.has(question.id);
      if (question.isOpen) open.set(question.id, question);
      else open.delete(question.id);
      if (isAnswering) return;
      if (shown?.question.id === question.id) {
        if (question.isOpen) return;
        write(`${paint('faint', 'The question has ended.')}\n`);
        return showNext();
      }
      if (shown === undefined && isNew && question.isOpen) showNext();
    },
    disturb() {
      // SECURITY: T-08 — what a terminal answers to a program comes in pieces, and the last of them may look like a key.
      if (shown !== undefined) shown = { ...shown, at: deps.now() };
      isSure = false;
    },
    press(key) {
      if (key === 'q' || key === '\u0003' || key === '\u0004') return leave();
      if (isAnswering) return;
      if (key === 'n') {
        if (shown !== undefined) passedOver.add(shown.question.id);
        else passedOver.clear();
        return showNext();
      }
      if (shown === undefined || deps.now() - shown.at < READING_MS) return;
      const { question } = shown;
      if (key === 'd') return void answerShown(question, { decision: 'deny' });
      if (key === 'r') {
        isAnswering = true;
        return void deps.askReason().then((reason) => answerShown(question, { decision: 'deny', reason }));
      }
      const scope = KEYS[key];
      if (scope === undefined || !question.prompt.options.some((option) => option.scope === scope)) return;
      if (scope === 'always' && !isSure) {
        isSure = true;
        return write('This writes a rule for good. Press a again to do so.\n');
      }
      void answerShown(question, { decision: 'approve', scope });
    },
  };
}

function waitingLine(passedOver: number, paint: Paint): string {
  const text =
    passedOver === 0
      ? 'Nobody asks anything. New questions appear here; q leaves.'
      : `${passedOver} passed over; n shows them again, q leaves.`;
  return `${paint('faint', text)}\n`;
}

function questionText(question: InboxQuestion, openCount: number, deps: InboxDeps): string {
  const { prompt, waiting, votes } = question;
  const columns = deps.columns();
  const rule = '─'.repeat(Math.max(10, Math.min(columns, 120)));
  const keys = [
    ...Object.entries(KEYS)
      .filter(([, scope]) => prompt.options.some((option) => option.scope === scope))
      .map(([key, scope]) => `${deps.paint('name', key)} ${SCOPE_NAMES[scope]}`),
    `${deps.paint('name', 'd')} deny`,
    `${deps.paint('name', 'r')} deny with a reason`,
    `${deps.paint('name', 'n')} next${openCount > 1 ? ` (${openCount} open)` : ''}`,
    `${deps.paint('name', 'q')} leave`,
  ];
  const text = renderQuestion({ prompt, waiting, votes, now: deps.now(), columns }, deps.paint);
  return `${deps.paint('faint', rule)}\n${text}\n${keys.join('   ')}\n`;
}
