import type { SeccompErrno } from './refusals.ts';

/** One reason for refusing calls, by name. */
export interface CallRule {
  readonly calls: readonly string[];
  readonly when: readonly ArgumentTest[];
  readonly action: SeccompErrno;
  readonly why: string;
}

/**
 * The lower 32 bits of an argument, masked. The upper ones are the caller's to choose and are ignored on purpose: for every
 * argument tested here the kernel itself drops them (int, unsigned int, umode_t of 16 bits; `clone` takes
 * lower_32_bits of its flags), so a comparison of all 64 would be what could be evaded.
 */
export interface ArgumentTest {
  readonly argument: 0 | 1 | 2 | 3 | 4 | 5;
  readonly mask: number;
  readonly is: 'one_of' | 'none_of';
  readonly values: readonly number[];
}

export const ALL_BITS: number = 0xffff_ffff;
