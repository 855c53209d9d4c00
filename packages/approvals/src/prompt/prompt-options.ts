import { canonicalJson, type JsonValue, visibleText } from '@palyra/primitives';
import { effectInWords } from '../approval-effect.ts';
import type { ApprovalLimits } from '../approval-limits.ts';
import { type GrantPattern, isPattern } from '../decision-statement.ts';
import { type DecisionScope, type Needs, offeredScopes, type Question } from '../question.ts';

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

export function optionsOf(question: Question, limits: ApprovalLimits): readonly PromptOption[] {
  return offeredScopes(question).map((scope) => {
    const pattern = patternFor(scope, question);
    return {
      scope,
      covers: pattern === null ? ['this one call', ...question.effects.map(effectInWords)] : inWords(scope, pattern),
      pattern: pattern === null ? null : plainJson(pattern),
      holds_ms: holdsAtMost(scope, question.needs, limits),
    };
  });
}

/** Undefined when the prompt does not offer the scope, or its words are not those of what they stand for. */
export function reachShown(
  { options, needs }: { readonly options: readonly PromptOption[]; readonly needs: Pick<Needs, 'offer'> },
  scope: DecisionScope,
): OfferedReach | undefined {
  const option = options.find((each) => each.scope === scope);
  if (option === undefined) return undefined;
  const { covers, holds_ms: holdsMs } = option;
  if (scope === 'once') return option.pattern === null ? { pattern: null, holdsMs } : undefined;
  const pattern = parsePattern(option.pattern ?? '');
  if (pattern === undefined || plainJson(pattern) !== option.pattern) return undefined;
  if (!offeredScopes({ needs, effects: pattern.effects }).includes(scope)) return undefined;
  // SECURITY: T-46 — a row that was edited before the human looked may say one thing and stand for another.
  return sameTexts(covers, inWords(scope, pattern)) ? { pattern, holdsMs } : undefined;
}

function parsePattern(text: string): GrantPattern | undefined {
  try {
    const value = JSON.parse(text) as unknown;
    return isPattern(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function patternFor(scope: DecisionScope, { effects, subject }: Question): GrantPattern | null {
  if (scope === 'once') return null;
  const { principal, workspace, session } = subject;
  return { effects, principal, workspace, session: scope === 'session' ? session : null };
}

function inWords(scope: DecisionScope, { effects, principal, workspace, session }: GrantPattern): readonly string[] {
  return [reachInWords(scope, { principal, workspace, session }), ...effects.map(effectInWords)];
}

function reachInWords(scope: DecisionScope, pattern: Omit<GrantPattern, 'effects'>): string {
  const [principal, workspace] = [show(pattern.principal), show(pattern.workspace)];
  if (scope === 'always') return `for good, for everybody in ${workspace}`;
  if (pattern.session === null) return `for a time, in every session of ${principal} in ${workspace}`;
  return `until the session ${show(pattern.session)} of ${principal} in ${workspace} ends`;
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

function show(text: string): string {
  return visibleText(text, { maxCharacters: 4_000 });
}
