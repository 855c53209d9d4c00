import { denial, denyTarget, type EgressDenial } from '../denial.ts';
import { covers, type HostRule } from '../hosts/host-rule.ts';
import { formatTarget, type Target } from '../hosts/target.ts';
import { recogniseHosts } from './hosts-in-arguments.ts';

export interface Preflight {
  readonly argv: readonly string[];
  /** Hosts that the call itself names. */
  readonly declared: readonly Target[];
  readonly rules: readonly HostRule[];
}

/** Before anything starts; nothing holds the program to it afterwards. Empty: nothing speaks against it. */
export function checkPreflight({ argv, declared, rules }: Preflight): readonly EgressDenial[] {
  const { targets, malformed } = recogniseHosts(argv);
  const all = new Map([...declared, ...targets].map((target) => [formatTarget(target), target]));
  const denied = [...all.values()].filter((target) => !rules.some((rule) => covers(rule, target)));
  return [
    ...denied.map((target) => denyTarget(target, rules)),
    // SECURITY: T-21 — what stands in the place of a host and cannot be read is not let through unread.
    ...malformed.map((written) => denial('egress.malformed_host', { host: shown(written), port: 0 })),
  ];
}

function shown(written: string): string {
  return written.replaceAll(/[^!-~]/g, '?').slice(0, 253);
}
