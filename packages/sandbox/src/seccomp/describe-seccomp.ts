import type { CallRule } from './call-rule.ts';
import { callRules } from './call-rules.ts';
import type { SeccompRefusal } from './refusals.ts';
import type { SyscallTable } from './syscall-table.ts';
import { ARM64_SYSCALLS } from './syscalls-arm64.ts';
import { X86_64_SYSCALLS } from './syscalls-x86-64.ts';

export interface SeccompOptions {
  readonly arch: SeccompArch;
  /** Tier C when absent. */
  readonly tier?: 'B' | 'C';
  readonly unixSockets: 'allowed' | 'refused';
}

export type SeccompArch = 'x86_64' | 'arm64';

/** What the filter does, as data: the program is built from it, and doctor and the docs print it. */
export interface SeccompDescription {
  readonly arch: SeccompArch;
  readonly highestReviewed: number;
  /** The first that matches decides. */
  readonly rules: readonly SeccompRule[];
  /** What no rule names. */
  readonly otherwise: 'allow';
}

export type SeccompRule =
  | (Verdict & { readonly kind: 'other_architecture'; readonly auditArch: number })
  /** The number shares a bit with the mask. */
  | (Verdict & { readonly kind: 'number_bits'; readonly mask: number })
  /** Both ends included. */
  | (Verdict & { readonly kind: 'numbers'; readonly first: number; readonly last: number })
  | (Verdict & {
      readonly kind: 'calls';
      readonly calls: readonly { readonly name: string; readonly number: number }[];
      /** All must hold; none is always. */
      readonly when: CallRule['when'];
    });

interface Verdict {
  readonly action: SeccompRefusal;
  readonly why: string;
}

const SYSCALL_TABLES: Readonly<Record<SeccompArch, SyscallTable>> = { x86_64: X86_64_SYSCALLS, arm64: ARM64_SYSCALLS };

export function describeSeccomp({ arch, tier = 'C', unixSockets }: SeccompOptions): SeccompDescription {
  const table = SYSCALL_TABLES[arch];
  return {
    arch,
    highestReviewed: table.highestReviewed,
    rules: [...numberRules(arch, table), ...callRules({ tier, unixSockets }).flatMap((rule) => numbered(rule, table))],
    otherwise: 'allow',
  };
}

/** The bit that marks a call of x32, which has numbers and argument layouts of its own. */
const X32_SYSCALL_BIT = 0x4000_0000;

function numberRules(arch: SeccompArch, table: SyscallTable): readonly SeccompRule[] {
  const x32: SeccompRule = {
    kind: 'number_bits',
    mask: X32_SYSCALL_BIT,
    action: 'ENOSYS',
    why: 'x32 reaches the same calls under other numbers',
  };
  return [
    // SECURITY: T-18 — the numbers mean other calls on another architecture (int 0x80, AArch32), so none may pass.
    {
      kind: 'other_architecture',
      auditArch: table.auditArch,
      action: 'kill_process',
      why: 'another architecture numbers its calls differently',
    },
    ...(arch === 'x86_64' ? [x32] : []),
    // SECURITY: T-18 — a call that a newer kernel brings is refused until somebody has read what it does.
    {
      kind: 'numbers',
      first: table.highestReviewed + 1,
      last: 0xffff_ffff,
      action: 'ENOSYS',
      why: 'newer than the newest call that was reviewed',
    },
    ...table.gaps.map(
      ([first, last]): SeccompRule => ({
        kind: 'numbers',
        first,
        last,
        action: 'ENOSYS',
        why: 'no call had these numbers when the others were reviewed',
      }),
    ),
  ];
}

/** A rule none of whose calls the architecture has is left out; a name that no architecture has is a mistake. */
function numbered({ calls, ...rule }: CallRule, table: SyscallTable): readonly SeccompRule[] {
  const here = calls.flatMap((name) => {
    // SECURITY: T-20 — a misspelt name would silently drop its rule.
    if (!Object.values(SYSCALL_TABLES).some(({ numbers }) => numbers.has(name))) {
      throw new RangeError(`There is no call ${name}.`);
    }
    const number = table.numbers.get(name);
    return number === undefined ? [] : [{ name, number }];
  });
  return here.length === 0 ? [] : [{ kind: 'calls', calls: here, ...rule }];
}
