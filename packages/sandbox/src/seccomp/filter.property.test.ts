import { interpretBpf, type SystemCall } from '@palyra/testkit';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { describeSeccomp, type SeccompArch, type SeccompOptions, type SeccompRule } from './describe-seccomp.ts';
import { seccompProgram } from './filter.ts';

const AUDIT_ARCHES: Readonly<Record<SeccompArch, number>> = { x86_64: 0xc000003e, arm64: 0xc00000b7 };
const RETURNS = { kill_process: 0x80000000, EPERM: 0x50001, ENOSYS: 0x50026, EAFNOSUPPORT: 0x50061 };
const ALLOW = 0x7fff0000;

const PROGRAMS = (['x86_64', 'arm64'] as const).flatMap((arch) =>
  (['B', 'C'] as const).flatMap((tier) =>
    (['allowed', 'refused'] as const).map((unixSockets): SeccompOptions => ({ arch, tier, unixSockets })),
  ),
);

/** The rules as a reader would apply them, in whole numbers instead of jumps. */
function expectedReturn(rules: readonly SeccompRule[], call: SystemCall): number {
  const first = rules.find((rule) => applies(rule, call));
  return first === undefined ? ALLOW : RETURNS[first.action];
}

function applies(rule: SeccompRule, { auditArch, number, args }: SystemCall): boolean {
  switch (rule.kind) {
    case 'other_architecture':
      return auditArch !== rule.auditArch;
    case 'number_bits':
      return (BigInt(number) & BigInt(rule.mask)) !== 0n;
    case 'numbers':
      return number >= rule.first && number <= rule.last;
    case 'calls':
      return (
        rule.calls.some((call) => call.number === number) &&
        rule.when.every(({ argument, mask, is, values }) => {
          const low = Number(BigInt.asUintN(32, args[argument] ?? 0n) & BigInt(mask));
          return values.includes(low) === (is === 'one_of');
        })
      );
  }
}

/** Values that rules ask for, near misses and noise; upper halves are an attacker's. */
function someArgument(rules: readonly SeccompRule[]): fc.Arbitrary<bigint> {
  const tests = rules.flatMap((rule) => (rule.kind === 'calls' ? rule.when : []));
  const interesting = [...new Set(tests.flatMap(({ mask, values }) => [mask, ...values]))];
  const low = fc.oneof(
    fc.constantFrom(...interesting),
    fc.tuple(fc.constantFrom(...interesting), fc.nat(31)).map(([value, bit]) => (value ^ (2 ** bit)) >>> 0),
    fc.integer({ min: 0, max: 0xffffffff }),
  );
  const high = fc.oneof(fc.constant(0), fc.constant(0xffffffff), fc.integer({ min: 0, max: 0xffffffff }));
  return fc.tuple(low, high).map(([lower, upper]) => (BigInt(upper) << 32n) + BigInt(lower));
}

function someArguments(rules: readonly SeccompRule[]): fc.Arbitrary<bigint[]> {
  return fc.array(someArgument(rules), { minLength: 6, maxLength: 6 });
}

describe.each(PROGRAMS)('the program of Tier $tier for $arch with Unix sockets $unixSockets', (options) => {
  const { rules, highestReviewed } = describeSeccomp(options);
  const program = seccompProgram(options);
  const auditArch = AUDIT_ARCHES[options.arch];

  it('does with every reviewed number what the rules say, whatever the arguments', () => {
    fc.assert(
      fc.property(someArguments(rules), (args) => {
        const calls = Array.from({ length: highestReviewed + 3 }, (_, number) => ({ auditArch, number, args }));
        expect(calls.map((call) => interpretBpf(program, call))).toEqual(
          calls.map((call) => expectedReturn(rules, call)),
        );
      }),
      { numRuns: 60 },
    );
  });

  it('does what the rules say with the calls whose arguments matter', () => {
    const numbers = rules.flatMap((rule) =>
      rule.kind === 'calls' && rule.when.length > 0 ? rule.calls.map(({ number }) => number) : [],
    );
    fc.assert(
      fc.property(fc.constantFrom(...numbers), someArguments(rules), (number, args) => {
        const call = { auditArch, number, args };
        expect(interpretBpf(program, call)).toBe(expectedReturn(rules, call));
      }),
      { numRuns: 3000 },
    );
  });

  it('answers the same whatever the upper halves of the arguments are', () => {
    fc.assert(
      fc.property(fc.nat(highestReviewed), someArguments(rules), (number, args) => {
        const bare = args.map((value) => BigInt.asUintN(32, value));
        expect(interpretBpf(program, { auditArch, number, args })).toBe(
          interpretBpf(program, { auditArch, number, args: bare }),
        );
      }),
      { numRuns: 500 },
    );
  });

  it('lets no call of another architecture and no unreviewed number pass', () => {
    const word = fc.integer({ min: 0, max: 0xffffffff });
    fc.assert(
      fc.property(word, word, someArguments(rules), (arch, number, args) => {
        fc.pre(arch !== auditArch);
        expect(interpretBpf(program, { auditArch: arch, number, args })).toBe(RETURNS.kill_process);
        const beyond = number <= highestReviewed ? number + highestReviewed + 1 : number;
        expect(interpretBpf(program, { auditArch, number: beyond, args })).toBe(RETURNS.ENOSYS);
      }),
    );
  });

  it('jumps only inside itself and ends in a return', () => {
    const code = new DataView(program.buffer);
    const count = program.length / 8;
    for (let index = 0; index < count; index += 1) {
      const isJump = (code.getUint16(index * 8, true) & 0x07) === 0x05;
      const furthest = isJump ? Math.max(code.getUint8(index * 8 + 2), code.getUint8(index * 8 + 3)) : 0;
      expect(index + 1 + furthest).toBeLessThan(index === count - 1 ? count + 1 : count);
    }
    expect(code.getUint16((count - 1) * 8, true)).toBe(0x06);
  });
});
