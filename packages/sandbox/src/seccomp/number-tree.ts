import type { BpfInstruction } from './assemble.ts';
import type { ArgumentTest } from './call-rule.ts';
import type { SeccompRule } from './describe-seccomp.ts';

/** A rule that asks for the number of the call, and perhaps for its arguments. */
export type NumberRule = Extract<SeccompRule, { readonly kind: 'numbers' | 'calls' }>;

/** Numbers from `first` to the next stretch, to all of which the same rules apply; the last is the one that always does. */
export interface Stretch {
  readonly first: number;
  readonly rules: readonly NumberRule[];
}

/** All numbers that there are, in order, in as few stretches as there can be. */
export function stretchesOf(rules: readonly NumberRule[]): readonly Stretch[] {
  const starts = new Set([0, ...rules.flatMap(edgesOf).filter((edge) => edge <= HIGHEST)]);
  const stretches = [...starts]
    .toSorted((one, other) => one - other)
    .map(
      (first): Stretch => ({ first, rules: upToTheFirstThatAlwaysHolds(rules.filter((rule) => names(rule, first))) }),
    );
  return stretches.filter(
    (stretch, index) => index === 0 || verdictKey(stretch) !== verdictKey(stretches[index - 1] ?? stretch),
  );
}

/** The same for stretches that end in the same, whatever the reason. */
export function verdictKey({ rules }: Stretch): string {
  return rules.map((rule) => [rule.action, ...testsOf(rule).map((test) => JSON.stringify(test))].join(' ')).join(', ');
}

/**
 * Halves the numbers until one stretch is left, whose label `labelOf` says: a dozen comparisons for any number. For each filter
 * that is loaded the kernel goes through it once for every number, to remember which of them are always allowed; one after the
 * other, that took longer than all else about loading it.
 */
export function numberTree(
  stretches: readonly Stretch[],
  labelOf: (stretch: Stretch) => string,
): readonly BpfInstruction[] {
  const [only] = stretches;
  if (only === undefined || stretches.length === 1) return [];
  const half = stretches.length >> 1;
  const [below, above] = [stretches.slice(0, half), stretches.slice(half)];
  const [first] = above;
  if (first === undefined) return [];
  const entry = (part: readonly Stretch[]): string =>
    part.length === 1 && part[0] !== undefined ? labelOf(part[0]) : `numbers from ${part[0]?.first}, ${part.length}`;
  const branch = (part: readonly Stretch[]): readonly BpfInstruction[] =>
    part.length === 1 ? [] : [{ kind: 'label', name: entry(part) }, ...numberTree(part, labelOf)];
  return [
    { kind: 'jump_if', test: 'at_least', value: first.first, whenTrue: entry(above), whenFalse: entry(below) },
    ...branch(below),
    ...branch(above),
  ];
}

const HIGHEST = 0xffff_ffff;

function edgesOf(rule: NumberRule): readonly number[] {
  if (rule.kind === 'numbers') return [rule.first, rule.last + 1];
  return rule.calls.flatMap(({ number }) => [number, number + 1]);
}

function names(rule: NumberRule, number: number): boolean {
  if (rule.kind === 'numbers') return number >= rule.first && number <= rule.last;
  return rule.calls.some((call) => call.number === number);
}

/** All must hold; none is always. */
export function testsOf(rule: NumberRule): readonly ArgumentTest[] {
  return rule.kind === 'calls' ? rule.when : [];
}

function upToTheFirstThatAlwaysHolds(rules: readonly NumberRule[]): readonly NumberRule[] {
  const last = rules.findIndex((rule) => testsOf(rule).length === 0);
  return last < 0 ? rules : rules.slice(0, last + 1);
}
