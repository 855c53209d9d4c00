/** The system calls of one architecture that were reviewed. What is not in here did not exist when the filter was written. */
export interface SyscallTable {
  /** AUDIT_ARCH_…, as the kernel puts it into `struct seccomp_data`. */
  readonly auditArch: number;
  readonly numbers: ReadonlyMap<string, number>;
  readonly highestReviewed: number;
  /** Numbers below the highest without a call, first and last of each run: later kernels fill them. */
  readonly gaps: readonly (readonly [first: number, last: number])[];
}

/** Reads lines of a number and the names that count on from it. Throws RangeError where the numbers do not ascend. */
export function readSyscallTable(auditArch: number, text: string): SyscallTable {
  const numbers = new Map<string, number>();
  const gaps: (readonly [number, number])[] = [];
  let next = 0;
  for (const line of text.trim().split('\n')) {
    const [first = '', ...names] = line.trim().split(' ');
    const start = Number(first);
    if (!Number.isSafeInteger(start) || start < next) throw new RangeError(`The line ${first} is out of order.`);
    if (start > next) gaps.push([next, start - 1]);
    for (const [index, name] of names.entries()) {
      if (numbers.has(name)) throw new RangeError(`The call ${name} has two numbers.`);
      numbers.set(name, start + index);
    }
    next = start + names.length;
  }
  return { auditArch, numbers, highestReviewed: next - 1, gaps };
}
