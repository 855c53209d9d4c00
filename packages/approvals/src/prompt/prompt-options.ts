import { canonicalJson, type JsonValue } from '@palyra/primitives';
import { areCanonical, writeEffect } from '../approval-effect.ts';
import type { ApprovalLimits } from '../approval-limits.ts';
import { type GrantPattern, isPattern } from '../decision-statement.ts';
import { type DecisionScope, type Needs, offeredScopes, offerOf, type Question } from '../question.ts';
import { createPage, type Page } from './page.ts';

export interface PromptOption {
  readonly scope: DecisionScope;
  /** What exactly a yes of this scope covers, in words. */
  readonly covers: readonly string[];
  /** What the words stand for: a `GrantPattern` as JSON in plain ASCII. Null when it covers no more than the call. */
  readonly pattern: string | null;
  /** How long a yes of this scope holds at most. */
  readonly holds_ms: number;
}

/** What a yes of some scope would be good for, taken from what was shown and from nothing else. */
export interface OfferedReach {
  readonly pattern: GrantPattern | null;
  readonly holdsMs: number;
}

/** Last on its page: what could not be shown whole is not offered for more than one use. */
export function optionsOf(question: Question, limits: ApprovalLimits, page: Page): readonly PromptOption[] {
  const holdsOnce = holdsAtMost('once', question.needs, limits);
  const effects = page.list(
    question.effects,
    (effect) => writeEffect(effect, page),
    (note) => note,
  );
  const once: PromptOption = {
    scope: 'once',
    covers: [`this one call, within ${duration(holdsOnce)}`, ...effects],
    pattern: null,
    holds_ms: holdsOnce,
  };
  const offered = offeredScopes({ offer: offerOf(question), effects: question.effects, leftOut: page.leftOut });
  const wider = offered.filter((scope) => scope !== 'once');
  return [once, ...wider.map((scope) => widerOption(scope, question, limits))];
}

function widerOption(scope: WiderScope, question: Question, limits: ApprovalLimits): PromptOption {
  const pattern = patternFor(scope, question);
  const holdsMs = holdsAtMost(scope, question.needs, limits);
  const covers = inWords({ scope, pattern, holdsMs }, createPage());
  return { scope, covers, pattern: plainJson(pattern), holds_ms: holdsMs };
}

type WiderScope = Exclude<DecisionScope, 'once'>;

/** Undefined when the prompt does not offer the scope, or its words are not those of what they stand for. */
export function reachShown({ options, needs, what }: ShownOptions, scope: DecisionScope): OfferedReach | undefined {
  const [option, ...others] = options.filter((each) => each.scope === scope);
  // SECURITY: T-46 — of two with one name the human may have read the other.
  if (option === undefined || others.length > 0) return undefined;
  const { covers, holds_ms: holdsMs } = option;
  if (scope === 'once') return option.pattern === null ? { pattern: null, holdsMs } : undefined;
  const pattern = parsePattern(option.pattern ?? '');
  if (pattern === undefined || plainJson(pattern) !== option.pattern) return undefined;
  // SECURITY: T-46 — in their one spelling only: a path without a name would stand for all of them.
  if (!areCanonical(pattern.effects)) return undefined;
  const offered = offeredScopes({ offer: needs.offer, effects: pattern.effects, leftOut: what.left_out });
  if (!offered.includes(scope)) return undefined;
  const page = createPage();
  const words = inWords({ scope, pattern, holdsMs }, page);
  // SECURITY: T-46 — a row that was edited before the human looked may say one thing and stand for another, or for more
  // than it shows.
  return sameTexts(covers, words) && page.leftOut === 0 ? { pattern, holdsMs } : undefined;
}

interface ShownOptions {
  readonly options: readonly PromptOption[];
  readonly needs: Pick<Needs, 'offer'>;
  readonly what: { readonly left_out: number };
}

function parsePattern(text: string): GrantPattern | undefined {
  try {
    const value = JSON.parse(text) as unknown;
    return isPattern(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function patternFor(scope: WiderScope, { effects, subject }: Question): GrantPattern {
  const { principal, workspace, session } = subject;
  return { effects, principal, workspace, session: scope === 'session' ? session : null };
}

interface Reach {
  readonly scope: WiderScope;
  readonly pattern: GrantPattern;
  readonly holdsMs: number;
}

function inWords(reach: Reach, page: Page): readonly string[] {
  return [reachInWords(reach, page), ...reach.pattern.effects.map((effect) => writeEffect(effect, page))];
}

function reachInWords({ scope, pattern, holdsMs }: Reach, page: Page): string {
  const [principal, workspace] = [page.name(pattern.principal), page.name(pattern.workspace)];
  const atMost = duration(holdsMs);
  if (scope === 'always') return `for good, for everybody in ${workspace}`;
  if (pattern.session === null) return `for at most ${atMost}, in every session of ${principal} in ${workspace}`;
  return `until the session ${page.name(pattern.session)} of ${principal} in ${workspace} ends, for at most ${atMost}`;
}

const UNITS: readonly (readonly [ms: number, name: string])[] = [
  [3_600_000, 'hour'],
  [60_000, 'minute'],
  [1_000, 'second'],
  [1, 'millisecond'],
];

/** Exactly, in the largest unit that can say it. */
function duration(ms: number): string {
  const [unit, name] = UNITS.find(([each]) => ms % each === 0) ?? [1, 'millisecond'];
  return `${ms / unit} ${name}${ms === unit ? '' : 's'}`;
}

function holdsAtMost(scope: DecisionScope, { holdsMs }: Needs, limits: ApprovalLimits): number {
  const { onceMs, sessionMs, timeboxMs } = limits;
  const byScope = { once: onceMs, always: onceMs, session: sessionMs, timeboxed: timeboxMs };
  return Math.min(byScope[scope], holdsMs ?? Number.POSITIVE_INFINITY);
}

/** SECURITY: T-08 — exact, and yet nothing in it acts on a screen: every other character is a JSON escape. */
function plainJson(pattern: GrantPattern): string {
  const text = canonicalJson(pattern as unknown as JsonValue);
  return text.replaceAll(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function sameTexts(left: readonly string[], right: readonly string[]): boolean {
  return canonicalJson([...left]) === canonicalJson([...right]);
}
