import { assemble, type BpfInstruction } from './assemble.ts';
import type { ArgumentTest } from './call-rule.ts';
import { describeSeccomp, type SeccompOptions, type SeccompRule } from './describe-seccomp.ts';
import { type NumberRule, numberTree, stretchesOf, testsOf, verdictKey } from './number-tree.ts';
import { RET_ALLOW, refusalValue } from './refusals.ts';

/**
 * The filter of Tier C, as `bwrap --seccomp` takes it: the architecture first, then the number of the call, and the arguments
 * only of the calls where they matter. The kernel remembers which calls are always allowed and does not run it for them.
 */
export function seccompProgram(options: SeccompOptions): Uint8Array<ArrayBuffer> {
  const key = `${options.arch} ${options.tier ?? 'C'} ${options.unixSockets}`;
  const program = assembled.get(key) ?? assembleFilter(options);
  assembled.set(key, program);
  // A copy, for whoever changes it must not change everybody's.
  return program.slice();
}

/** There are a few in all, and putting one together takes longer than everything else that is planned. */
const assembled = new Map<string, Uint8Array<ArrayBuffer>>();

function assembleFilter(options: SeccompOptions): Uint8Array<ArrayBuffer> {
  const { rules } = describeSeccomp(options);
  const ofNumbers = rules.filter(asksForNumber);
  const ofAll = rules.slice(0, rules.length - ofNumbers.length);
  const stretches = stretchesOf(ofNumbers);
  // The first rule that matches decides, so those that hold for every number must come before those of one.
  const before = ofAll.flatMap((rule, index) => refuseFirst(rule, `rule ${index}: next`));
  const verdicts = new Map(stretches.map((stretch) => [verdictKey(stretch), stretch]));
  return assemble([
    ...before,
    { kind: 'load', offset: NUMBER_OFFSET },
    ...numberTree(stretches, (stretch) => verdictLabel(verdictKey(stretch))),
    ...[...verdicts].flatMap(([key, { rules: applying }]) => verdict(applying, verdictLabel(key))),
  ]);
}

function asksForNumber(rule: SeccompRule): rule is NumberRule {
  return rule.kind === 'numbers' || rule.kind === 'calls';
}

function verdictLabel(key: string): string {
  return `verdict: ${key}`;
}

/** Offsets in `struct seccomp_data`; the lower half of an argument comes first, as both architectures are little-endian. */
const NUMBER_OFFSET = 0;
const ARCH_OFFSET = 4;
const ARGUMENTS_OFFSET = 16;

/** Of what is asked whatever the number is. Loads what it compares itself. */
function refuseFirst(rule: SeccompRule, next: string): readonly BpfInstruction[] {
  const refuse: readonly BpfInstruction[] = [
    { kind: 'return', value: refusalValue(rule.action) },
    { kind: 'label', name: next },
  ];
  switch (rule.kind) {
    case 'other_architecture':
      return [
        { kind: 'load', offset: ARCH_OFFSET },
        { kind: 'jump_if', test: 'equal', value: rule.auditArch, whenTrue: next },
        ...refuse,
      ];
    case 'number_bits':
      return [
        { kind: 'load', offset: NUMBER_OFFSET },
        { kind: 'jump_if', test: 'any_bit', value: rule.mask, whenFalse: next },
        ...refuse,
      ];
    case 'numbers':
    case 'calls':
      // SECURITY: T-18 — never left out silently: it would stand before a rule that it must not overtake.
      throw new RangeError('A rule for some numbers stands before one for all of them.');
  }
}

/** Of the calls of one stretch: the first rule whose arguments are these refuses, and what is left is allowed. */
function verdict(rules: readonly NumberRule[], name: string): readonly BpfInstruction[] {
  const last = rules.at(-1);
  const isAlwaysRefused = last !== undefined && testsOf(last).length === 0;
  return [
    { kind: 'label', name },
    ...rules.flatMap((rule, index) => refuseMatching(rule, `${name} ${index}`)),
    ...(isAlwaysRefused ? [] : [{ kind: 'return', value: RET_ALLOW } as const]),
  ];
}

function refuseMatching(rule: NumberRule, name: string): readonly BpfInstruction[] {
  const next = `${name}: next`;
  return [
    ...testsOf(rule).flatMap((test, index) => argumentTest(test, `${name}: argument ${index}`, next)),
    { kind: 'return', value: refusalValue(rule.action) },
    { kind: 'label', name: next },
  ];
}

/** Falls through where the test holds. */
function argumentTest(test: ArgumentTest, name: string, next: string): readonly BpfInstruction[] {
  const holds = `${name}: holds`;
  return [
    { kind: 'load', offset: ARGUMENTS_OFFSET + 8 * test.argument },
    { kind: 'and', value: test.mask },
    ...equalsOneOf(
      test.values,
      test.is === 'one_of' ? { whenTrue: holds, whenFalse: next } : { whenTrue: next, whenFalse: holds },
    ),
    { kind: 'label', name: holds },
  ];
}

function equalsOneOf(
  values: readonly number[],
  { whenTrue, whenFalse }: { readonly whenTrue: string; readonly whenFalse: string },
): readonly BpfInstruction[] {
  return values.map((value, index) => ({
    kind: 'jump_if',
    test: 'equal',
    value,
    whenTrue,
    ...(index === values.length - 1 ? { whenFalse } : {}),
  }));
}
