import type { Paint } from '../render/paint.ts';
import { safeText } from '../render/safe-text.ts';
import { wrap } from '../render/wrap.ts';
import type { Scope, ShownPrompt } from './shown-prompt.ts';

export interface QuestionView {
  readonly prompt: ShownPrompt;
  readonly waiting: number;
  readonly votes: number;
  readonly now: number;
  readonly columns: number;
}

const SHOWN_OF_ID = 6;

/** The whole question: what is cut off here is not seen by whoever answers. */
export function renderQuestion({ prompt, waiting, votes, now, columns }: QuestionView, paint: Paint): string {
  const { what, policy, needs, options, agent_says: says } = prompt;
  const width = Math.max(40, Math.min(columns, 120));
  const field = (name: string, text: string) => fieldLines(name, text, width, paint);
  const lines = [
    ...wrap(safeText(what.sentence), width).map((line) => paint('title', line)),
    '',
    ...quoted(what.action.text, paint),
    '',
    ...field('risk', [what.risk.level, ...what.risk.reasons].join('; ')),
    ...field('where', what.cwd ?? what.workspace.path ?? what.workspace.name),
    ...field('box', boxOf(what.tier)),
    ...what.hosts.flatMap(({ shown, warnings }) => field('host', [shown, ...warnings].join('; '))),
    ...what.secrets.flatMap((name) => field('secret', name)),
    ...what.bound.flatMap(({ name, sha256 }) => field('bytes', `${name} ${sha256?.slice(0, 12) ?? ''}`)),
    ...what.not_bound.flatMap((sentence) => field('not bound', sentence)),
    ...(what.left_out === 0
      ? []
      : field('left out', `${what.left_out} bytes had no room; a yes is for this call only`)),
    ...field('policy', `${policy.ids.join(', ')}: ${policy.reason}`),
    ...(needs.approvers > 1 ? field('people', `${votes} of ${needs.approvers} have said yes`) : []),
    ...(says === null ? [] : field('the agent says', `${says.text} (${says.note})`)),
    ...field(
      'open',
      `${timeLeft(prompt.expires_at - now)} more; ${waiting} waiting; id ${prompt.approval_id.slice(-SHOWN_OF_ID)}`,
    ),
    '',
    ...options.flatMap(({ scope, covers }) => field(SCOPE_NAMES[scope] ?? scope, covers.join('; '))),
  ];
  return `${lines.join('\n')}\n`;
}

export const SCOPE_NAMES: Readonly<Record<Scope, string>> = {
  once: 'once',
  session: 'session',
  timeboxed: 'for a time',
  always: 'always here',
};

/** SECURITY: T-08 — each line of what would run is marked, so that none of it can pass for a line of ours. */
function quoted(text: string, paint: Paint): readonly string[] {
  return text.split('\n').map((line) => `${paint('warning', '│')} ${safeText(line)}`);
}

const LABEL = 14;

function fieldLines(name: string, text: string, width: number, paint: Paint): readonly string[] {
  const rows = wrap(safeText(text), width - LABEL - 1);
  return (rows.length === 0 ? [''] : rows).map(
    (line, at) => `${paint('faint', (at === 0 ? name : '').padEnd(LABEL))} ${line}`,
  );
}

function boxOf(tier: string): string {
  if (tier === 'C') return 'in the box (Tier C)';
  if (tier === 'B') return 'no box, limits only (Tier B)';
  if (tier === 'client') return 'no box: the agent does it itself, and only tells what';
  return tier === 'built_in' ? 'a built-in tool of Palyra' : `Tier ${tier}`;
}

function timeLeft(ms: number): string {
  if (ms <= 0) return 'no time';
  if (ms < 60_000) return `${Math.ceil(ms / 1000)} s`;
  return ms < 3_600_000 ? `${Math.ceil(ms / 60_000)} min` : `${Math.ceil(ms / 3_600_000)} h`;
}
