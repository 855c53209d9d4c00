import type { HomeLayout } from '@palyra/config';
import {
  type CertificateAuthority,
  type CommitIdentity,
  createThrottle,
  type IdentitySchema,
  identityEntryOf,
  openAuthority,
  openRegistry,
  openTokens,
  type Registry,
  type Throttle,
  type Tokens,
} from '@palyra/identity';
import { type Journal, parseActor } from '@palyra/journal';
import type { Clock } from '@palyra/primitives';
import type { Database } from '@palyra/storage';

/** Who there is, and who may come. */
export interface DaemonIdentity {
  readonly authority: CertificateAuthority;
  readonly registry: Registry;
  readonly tokens: Tokens;
  /** One for all listeners: who guesses at one of them is slow at each. */
  readonly throttle: Throttle;
}

export interface IdentityDeps {
  readonly home: Pick<HomeLayout, 'identity'>;
  /** Opened with `IDENTITY_MIGRATIONS`. */
  readonly database: Database<IdentitySchema>;
  readonly journal: Pick<Journal, 'append'>;
  readonly clock: Clock;
}

/** Opens nothing that must exist: a home without identities has a registry in which nobody is. */
export function openIdentity({ home, database, journal, clock }: IdentityDeps): DaemonIdentity {
  const authority = openAuthority(home.identity, { clock });
  const registry = openRegistry({ database, commit: commitRecorded(journal), clock });
  const throttle = createThrottle(clock);
  return { authority, registry, tokens: openTokens({ registry, authority, throttle }), throttle };
}

/** SECURITY: T-32 — a change of devices and what the journal says about it are one commit. */
function commitRecorded(journal: Pick<Journal, 'append'>): CommitIdentity {
  return async ({ steps, notifications = [] }, events) => {
    const drafts = events.map(identityEntryOf);
    const actor = parseActor(actorOf(events[0]?.by));
    const outcome = await journal.append(actor, drafts, { steps, notifications });
    return outcome.kind === 'appended' ? { kind: 'committed' } : { kind: 'conflict', step: outcome.step };
  };
}

/** Tokens let devices in without a person; the journal names them as services. */
function actorOf(by = 'daemon:palyrad'): string {
  return by.startsWith('token:') ? by.replace(/^token:/, 'service:token-') : by;
}
