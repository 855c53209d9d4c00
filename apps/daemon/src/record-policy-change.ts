import { type Journal, parseActor } from '@palyra/journal';
import type { PolicyChange } from '@palyra/policy';

/** What palyrad itself does is on record under this name. */
export const PALYRAD: ReturnType<typeof parseActor> = parseActor('daemon:palyrad');

const SOURCES = { started: 'start', applied: 'apply', auto_applied: 'auto_apply', always_here: 'always_here' } as const;

/** SECURITY: T-09 — on record before it decides anything, and whose word it was. */
export async function recordPolicyChange(
  journal: Journal,
  { cause, digest, previousDigest, rule }: PolicyChange,
): Promise<void> {
  const previous = previousDigest === undefined ? {} : { previous: previousDigest };
  const what = rule === undefined ? {} : { rule: rule.id, change: rule.change };
  await journal.append(rule === undefined ? PALYRAD : parseActor(rule.by), [
    { kind: 'policy.activated', data: { policy_set: digest, ...previous, source: SOURCES[cause], ...what } },
  ]);
}
