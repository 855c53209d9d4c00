import { describe, expect, it } from 'vitest';
import { readSyscallTable, type SyscallTable } from './syscall-table.ts';
import { ARM64_SYSCALLS } from './syscalls-arm64.ts';
import { X86_64_SYSCALLS } from './syscalls-x86-64.ts';

function pick({ numbers }: SyscallTable, names: string): readonly (number | undefined)[] {
  return names.split(' ').map((name) => numbers.get(name));
}

/** Spread over the tables, so that a name lost or added anywhere moves one of them. */
const SPREAD = 'read ioctl socket clone ptrace mount keyctl openat unshare setns bpf statx clone3 openat2 file_setattr';

describe('readSyscallTable', () => {
  it('counts on from the number of each line and finds the gaps', () => {
    expect(readSyscallTable(7, '\n  1 a b\n  3 c\n  9 d\n')).toEqual({
      auditArch: 7,
      numbers: new Map([
        ['a', 1],
        ['b', 2],
        ['c', 3],
        ['d', 9],
      ]),
      highestReviewed: 9,
      gaps: [
        [0, 0],
        [4, 8],
      ],
    });
  });

  it('refuses lines that overlap, lines without a number, and a name that is there twice', () => {
    expect(() => readSyscallTable(7, '0 a b\n1 c')).toThrow(new RangeError('The line 1 is out of order.'));
    expect(() => readSyscallTable(7, 'a b')).toThrow(new RangeError('The line a is out of order.'));
    expect(() => readSyscallTable(7, '0 a a')).toThrow(new RangeError('The call a has two numbers.'));
  });
});

describe('the tables', () => {
  it('number the calls of x86_64 as the kernel does', () => {
    expect(X86_64_SYSCALLS.auditArch).toBe(0xc000003e);
    expect(pick(X86_64_SYSCALLS, SPREAD)).toEqual([
      0, 16, 41, 56, 101, 165, 250, 257, 272, 308, 321, 332, 435, 437, 469,
    ]);
    expect(X86_64_SYSCALLS.numbers.size).toBe(383);
    expect(X86_64_SYSCALLS.highestReviewed).toBe(469);
    expect(X86_64_SYSCALLS.gaps).toEqual([[337, 423]]);
  });

  it('number the calls of arm64 as the kernel does', () => {
    expect(ARM64_SYSCALLS.auditArch).toBe(0xc00000b7);
    expect(pick(ARM64_SYSCALLS, SPREAD)).toEqual([
      63, 29, 198, 220, 117, 40, 219, 56, 97, 268, 280, 291, 435, 437, 469,
    ]);
    expect(ARM64_SYSCALLS.numbers.size).toBe(325);
    expect(ARM64_SYSCALLS.highestReviewed).toBe(469);
    expect(ARM64_SYSCALLS.gaps).toEqual([
      [244, 259],
      [295, 423],
    ]);
  });

  it('agree on what is new since both are numbered alike', () => {
    const recent = ({ numbers }: SyscallTable) => [...numbers].filter(([, number]) => number >= 424);
    expect(recent(ARM64_SYSCALLS)).toEqual(recent(X86_64_SYSCALLS));
  });
});
