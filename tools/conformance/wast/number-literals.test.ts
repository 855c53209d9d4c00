import { expect, test } from 'vitest';
import { floatBits, integerBits } from './number-literals.ts';

test('integers are their bits, with any sign, base and underscores', () => {
  expect(integerBits('-1', 32)).toBe(0xffff_ffffn);
  expect(integerBits('0xffff_ffff', 32)).toBe(0xffff_ffffn);
  expect(integerBits('+1_000', 64)).toBe(1_000n);
  expect(integerBits('-0x8000000000000000', 64)).toBe(1n << 63n);
});

test('floats are their bits: decimal, hexadecimal, infinite and not a number', () => {
  expect(floatBits('1', 32)).toBe(0x3f80_0000n);
  expect(floatBits('-0.0', 64)).toBe(1n << 63n);
  expect(floatBits('0x1.8p+1', 64)).toBe(0x4008_0000_0000_0000n);
  expect(floatBits('0x1p-149', 32)).toBe(1n);
  expect(floatBits('0x0.0000000000001p-1022', 64)).toBe(1n);
  expect(floatBits('1_0e2', 64)).toBe(floatBits('1000', 64));
  expect(floatBits('-inf', 32)).toBe(0xff80_0000n);
  expect(floatBits('nan', 32)).toBe(0x7fc0_0000n);
  expect(floatBits('-nan:0x200000', 32)).toBe(0xffa0_0000n);
});
