import { readdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { systemClock } from '@palyra/primitives';
import { holdDirectory } from '../keys/hold-directory.ts';
import { checkPrivateDirectory } from '../keys/private-files.ts';
import type { AuthorityEvent } from '../registry/identity-record.ts';
import { type Authority, type AuthorityFile, keyFileOf, openAuthorityFile } from './authority-file.ts';
import { DEFAULT_LIFETIMES } from './lifetimes.ts';
import { type AuthorityOptions, authorityDirectory, makeAuthority, trustedAt } from './open-authority.ts';

/** What was done, or that nothing was due. */
export type RollOverStep = 'prepared' | 'activated' | 'retired' | 'nothing due';

export interface RollOverOptions extends AuthorityOptions {
  /** All at once and with nothing trusted for a while: for a key that others may have. Every device is paired anew. */
  readonly isUrgent?: boolean;
  /** Begin now, though the authority has time left. */
  readonly isWanted?: boolean;
  /** Told of each step when it is taken, for the journal; nobody else takes one meanwhile. */
  readonly taken?: (step: TakenStep) => Promise<unknown>;
}

/** What was done, and about which authority. */
export type TakenStep = Pick<AuthorityEvent, 'change' | 'authority'>;

/**
 * Changes from one authority to the next in three steps, each when it is due; palyrad looks every hour.
 *
 * First the next authority is made and told to every device that renews: it signs nothing yet. When every device that is
 * in use has heard of it, it signs, and the key of the old one is destroyed. When the last certificate of the old one
 * has run out, the old one is forgotten. So neither side ever meets a certificate of an authority it has not heard of.
 * One process at a time: of two, one is refused with `identity.ca_busy`.
 */
export async function rollOver(identityDirectory: string, options: RollOverOptions = {}): Promise<RollOverStep> {
  const file = openAuthorityFile(authorityDirectory(identityDirectory));
  // Before anything is written there: a home without an authority is told so.
  file.read();
  checkPrivateDirectory(file.directory);
  return holdDirectory(file.directory, async () => {
    const before = file.read();
    const step = await takeStep(file, options);
    destroyOtherKeys(file);
    if (step !== 'nothing due') await tell(step, { before, after: file.read(), options });
    return step;
  });
}

interface Told {
  readonly before: readonly Authority[];
  readonly after: readonly Authority[];
  readonly options: RollOverOptions;
}

async function tell(change: TakenStep['change'], { before, after, options }: Told): Promise<void> {
  const gone = before.filter(({ id }) => !after.some((other) => other.id === id));
  const about = {
    prepared: after.filter(({ state }) => state === 'next'),
    activated: after.filter(({ state }) => state === 'current'),
    retired: gone,
  }[change];
  for (const { id: authority } of about) await options.taken?.({ change, authority });
}

async function takeStep(file: AuthorityFile, options: RollOverOptions): Promise<RollOverStep> {
  const { clock = systemClock, isUrgent = false, isWanted = false } = options;
  const { overlapMs, rollOverMs } = { ...DEFAULT_LIFETIMES, ...options.lifetimes };
  const authorities = file.read();
  const now = clock.now();
  const current = authorities.find(({ state }) => state === 'current') as Authority;
  const next = authorities.find(({ state }) => state === 'next');

  if (isUrgent) {
    file.write([await makeAuthority(file.directory, 'current', options)]);
    return 'activated';
  }
  // One roll-over after the other: who wants one while another is under way gets its next step.
  const isFree = !authorities.some(({ state }) => state === 'previous');
  if (next === undefined && ((isWanted && isFree) || current.trustedUntil - now < rollOverMs)) {
    file.write([...authorities, await makeAuthority(file.directory, 'next', options)]);
    return 'prepared';
  }
  if (next !== undefined && now >= next.createdAt + overlapMs) {
    // SECURITY: T-35 — trusted for as long as its last certificate can live, and not until its own end.
    const trustedUntil = Math.min(current.trustedUntil, now + overlapMs);
    const others = authorities.filter(({ state }) => state === 'previous');
    file.write([{ ...next, state: 'current' }, { ...current, state: 'previous', trustedUntil }, ...others]);
    return 'activated';
  }
  return retire(authorities, { file, now });
}

function retire(
  authorities: readonly Authority[],
  { file, now }: { readonly file: AuthorityFile; readonly now: number },
): RollOverStep {
  const kept = authorities.filter((each) => each.state !== 'previous' || trustedAt([each], now).length === 1);
  if (kept.length === authorities.length) return 'nothing due';
  file.write(kept);
  return 'retired';
}

/** SECURITY: T-35 — what has signed its last must not sign again, also when the one that took the step did not live to see to it. */
function destroyOtherKeys(file: AuthorityFile): void {
  const signing = file.read().filter(({ state }) => state !== 'previous');
  const kept = new Set(signing.map(({ id }) => basename(keyFileOf(file.directory, id))));
  for (const name of readdirSync(file.directory)) {
    if (name.endsWith('.key') && !kept.has(name)) rmSync(join(file.directory, name), { force: true });
  }
}
