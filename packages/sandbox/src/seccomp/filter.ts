import { assemble, type BpfInstruction } from './assemble.ts';
import type { ArgumentTest } from './call-rules.ts';
import { describeSeccomp, type SeccompOptions, type SeccompRule } from './describe-seccomp.ts';
import { RET_ALLOW, refusalValue } from './refusals.ts';

/**
 * The filter of Tier C, as `bwrap --seccomp` takes it. One block for each rule, one after the other, each of which refuses
 * or falls through to the next: no jump leaves its block. Long though it looks, the kernel remembers which calls are
 * always allowed and does not run it for them.
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
  const blocks = describeSeccomp(options).rules.flatMap((rule, index) => block(rule, `rule ${index}`));
  return assemble([...blocks, { kind: 'return', value: RET_ALLOW }]);
}

/** Offsets in `struct seccomp_data`; the lower half of an argument comes first, as both architectures are little-endian. */
const NUMBER_OFFSET = 0;
const ARCH_OFFSET = 4;
const ARGUMENTS_OFFSET = 16;

/** Every block loads what it compares itself, so none depends on what ran before it. */
function block(rule: SeccompRule, name: string): readonly BpfInstruction[] {
  const refuse = `${name}: refuse`;
  const next = `${name}: next`;
  return [
    ...tests(rule, refuse, next),
    { kind: 'label', name: refuse },
    { kind: 'return', value: refusalValue(rule.action) },
    { kind: 'label', name: next },
  ];
}

function tests(rule: SeccompRule, refuse: string, next: string): readonly BpfInstruction[] {
  switch (rule.kind) {
    case 'other_architecture':
      return [
        { kind: 'load', offset: ARCH_OFFSET },
        { kind: 'jump_if', test: 'equal', value: rule.auditArch, whenTrue: next },
      ];
    case 'number_bits':
      return [
        { kind: 'load', offset: NUMBER_OFFSET },
        { kind: 'jump_if', test: 'any_bit', value: rule.mask, whenFalse: next },
      ];
    case 'numbers':
      return [
        { kind: 'load', offset: NUMBER_OFFSET },
        { kind: 'jump_if', test: 'at_least', value: rule.first, whenFalse: next },
        { kind: 'jump_if', test: 'greater', value: rule.last, whenTrue: next },
      ];
    case 'calls': {
      const matched = `${refuse}: arguments`;
      return [
        { kind: 'load', offset: NUMBER_OFFSET },
        ...equalsOneOf(
          rule.calls.map(({ number }) => number),
          { whenTrue: matched, whenFalse: next },
        ),
        { kind: 'label', name: matched },
        ...rule.when.flatMap((test, index) => argumentTest(test, `${matched} ${index}`, next)),
      ];
    }
  }
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
