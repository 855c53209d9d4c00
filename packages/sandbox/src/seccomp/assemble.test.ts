import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { assemble, type BpfInstruction, MAX_INSTRUCTIONS } from './assemble.ts';

const RETURN: BpfInstruction = { kind: 'return', value: 0 };

function hex(program: readonly BpfInstruction[]): string {
  return Buffer.from(assemble(program))
    .toString('hex')
    .replaceAll(/(.{16})(?!$)/g, '$1 ');
}

function jumpOver(count: number): readonly BpfInstruction[] {
  return [
    { kind: 'jump_if', test: 'equal', value: 1, whenFalse: 'end' },
    ...Array.from({ length: count }, () => RETURN),
    { kind: 'label', name: 'end' },
    RETURN,
  ];
}

describe('assemble', () => {
  it('writes struct sock_filter, little-endian', () => {
    const program: readonly BpfInstruction[] = [
      { kind: 'load', offset: 4 },
      { kind: 'jump_if', test: 'equal', value: 0xc000003e, whenTrue: 'good' },
      { kind: 'return', value: 0x80000000 },
      { kind: 'label', name: 'good' },
      { kind: 'and', value: 0x0f },
      { kind: 'jump_if', test: 'greater', value: 1, whenFalse: 'end' },
      { kind: 'jump_if', test: 'at_least', value: 2, whenTrue: 'end', whenFalse: 'end' },
      { kind: 'jump_if', test: 'any_bit', value: 0x40000000 },
      { kind: 'label', name: 'end' },
      { kind: 'return', value: 0x7fff0000 },
    ];
    expect(hex(program)).toBe(
      [
        '2000000004000000',
        '150001003e0000c0',
        '0600000000000080',
        '540000000f000000',
        '2500000201000000',
        '3500010102000000',
        '4500000000000040',
        '060000000000ff7f',
      ].join(' '),
    );
  });

  it('jumps over 255 instructions and refuses 256', () => {
    expect(assemble(jumpOver(255))[3]).toBe(255);
    expect(() => assemble(jumpOver(256))).toThrow(new RangeError('The jump to end spans 256 instructions.'));
  });

  it('refuses a jump backwards, which BPF does not have', () => {
    const program: readonly BpfInstruction[] = [
      { kind: 'label', name: 'start' },
      { kind: 'load', offset: 0 },
      { kind: 'jump_if', test: 'equal', value: 1, whenTrue: 'start' },
      RETURN,
    ];
    expect(() => assemble(program)).toThrow(new RangeError('The jump to start spans -2 instructions.'));
  });

  it('refuses a label that is missing and one that is there twice', () => {
    expect(() => assemble([{ kind: 'jump_if', test: 'equal', value: 1, whenTrue: 'x' }, RETURN])).toThrow(
      new RangeError('There is no label x.'),
    );
    expect(() => assemble([{ kind: 'label', name: 'x' }, { kind: 'label', name: 'x' }, RETURN])).toThrow(
      new RangeError('The label x is there twice.'),
    );
  });

  it('refuses an empty program and one that the kernel would not load', () => {
    const longest = Array.from({ length: MAX_INSTRUCTIONS }, () => RETURN);
    expect(assemble(longest)).toHaveLength(8 * 4096);
    expect(() => assemble([...longest, RETURN])).toThrow(new RangeError('A BPF program of 4097 instructions.'));
    expect(() => assemble([{ kind: 'label', name: 'x' }])).toThrow(new RangeError('A BPF program of 0 instructions.'));
  });

  it('refuses values that 32 bits do not hold', () => {
    fc.assert(
      fc.property(fc.oneof(fc.integer({ max: -1 }), fc.double({ min: 2 ** 32 }), fc.constant(0.5)), (value) => {
        expect(() => assemble([{ kind: 'return', value }])).toThrow(RangeError);
      }),
    );
  });
});
