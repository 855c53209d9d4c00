import {
  type Clock,
  createIdSource,
  type PairingId,
  type RandomBytes,
  Secret,
  type SecretText,
} from '@palyra/primitives';
import { DEVICE_KINDS, type DeviceKind } from '../device-kind.ts';
import { checkDeviceName } from './device-name.ts';
import type { Means } from './messages.ts';
import { PairingError } from './pairing-error.ts';
import { type RefusalCode, refused } from './refusal.ts';

/** What the operator decided before anybody came. */
export interface InvitationTerms {
  readonly kind: DeviceKind;
  readonly name: string;
  /** The id of a known device whose key the new one replaces. */
  readonly replaces?: string;
}

export interface Invitation extends InvitationTerms {
  readonly id: PairingId;
  readonly expiresAt: number;
  readonly triesLeft: number;
}

export interface NewInvitation extends Invitation {
  /** Eight digits, to be typed. */
  readonly pin: SecretText;
  /** 128 bits, for the join URL. */
  readonly code: SecretText;
  /** How it ended; never rejects. */
  readonly ended: Promise<InvitationEnd>;
}

export type InvitationEnd =
  | { readonly kind: 'burnt' }
  | { readonly kind: 'cancelled' }
  | { readonly kind: 'expired' }
  /** `acknowledged`: the device said that it has its certificate. */
  | { readonly kind: 'paired'; readonly device: string; readonly acknowledged: boolean }
  /** The secret was proven, and then the pairing came to nothing. */
  | { readonly kind: 'failed'; readonly error: PairingError };

/** Kept in memory only: a restart voids all of them. */
export interface InvitationBook {
  /** Throws `pairing.invalid_invitation`, `pairing.invalid_name`. */
  invite(terms: InvitationTerms): NewInvitation;
  list(): readonly Invitation[];
  /** False when it was not open any more. */
  cancel(id: string): boolean;
  /** The named one, or the only one. Throws the refusal that says why there is none to try. */
  find(id: string | undefined): Invitation;
  /** Counts one try. Throws as `find` does. */
  startTry(id: string, means: Means): InvitationTry;
}

export interface InvitationTry {
  readonly secret: SecretText;
  readonly triesLeft: number;
  /** The secret was proven: nobody else can use the invitation from now on. Throws when somebody was quicker. */
  claim(): Claim;
  failed(): void;
}

export interface Claim {
  end(end: InvitationEnd): void;
}

export interface InvitationBookDeps {
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
}

export const MAX_TRIES = 5;
export const INVITATION_LIFE_MS: number = 10 * 60_000;
const MAX_OPEN = 8;
/** Ended ones are remembered for a while, so that a device is told why it comes too late. */
const MAX_REMEMBERED = 32;

interface Entry {
  readonly terms: InvitationTerms;
  readonly id: PairingId;
  readonly expiresAt: number;
  readonly secrets: Readonly<Record<Means, SecretText>>;
  state: 'open' | 'claimed' | 'ended';
  why: RefusalCode;
  tries: number;
  underWay: number;
  readonly settle: (end: InvitationEnd) => void;
}

export function createInvitationBook({ clock, randomBytes }: InvitationBookDeps): InvitationBook {
  const entries = new Map<string, Entry>();
  const ids = createIdSource({ now: clock.now, random: randomBytes });
  const open = (): Entry[] => [...entries.values()].filter((entry) => isOpen(entry));

  function isOpen(entry: Entry): boolean {
    // SECURITY: T-34 — asked of the clock, not of a timer that may be late.
    if (entry.state === 'open' && clock.now() >= entry.expiresAt) end(entry, { kind: 'expired' });
    return entry.state === 'open';
  }

  function end(entry: Entry, how: InvitationEnd): void {
    if (entry.state === 'ended') return;
    entry.state = 'ended';
    entry.why = WHY[how.kind];
    entry.settle(how);
  }

  function remember(entry: Entry): void {
    entries.set(entry.id, entry);
    for (const [id, { state }] of entries) {
      if (entries.size <= MAX_REMEMBERED) return;
      if (state === 'ended') entries.delete(id);
    }
  }

  /** SECURITY: T-34 — five tries of 10^8 PINs, whether they come one after another or all at once. */
  function mayBeTried(entry: Entry): boolean {
    return isOpen(entry) && entry.tries < MAX_TRIES;
  }

  function findEntry(id: string | undefined): Entry {
    const candidates = id === undefined ? open() : [...entries.values()].filter((entry) => entry.id === id);
    if (candidates.length > 1) throw refused({ code: 'pairing.several_invitations' });
    const entry = candidates[0] ?? (id === undefined ? lastOf(entries) : undefined);
    if (entry === undefined) throw refused({ code: 'pairing.no_invitation' });
    if (!mayBeTried(entry)) throw refused({ code: entry.state === 'ended' ? entry.why : whyNotNow(entry) });
    return entry;
  }

  return {
    invite(terms) {
      checkTerms(terms, open().length);
      const { promise: ended, resolve: settle } = Promise.withResolvers<InvitationEnd>();
      const secrets = { pin: new Secret(newPin(randomBytes)), code: new Secret(newCode(randomBytes)) };
      const expiresAt = clock.now() + INVITATION_LIFE_MS;
      const fixed = { terms, id: ids.newId('pairing'), expiresAt, secrets, settle };
      const entry: Entry = { ...fixed, state: 'open', why: 'pairing.expired', tries: 0, underWay: 0 };
      remember(entry);
      expireInTime(entry, ended);
      return { ...shown(entry), ...secrets, ended };
    },
    list: () => open().map(shown),
    cancel(id) {
      const entry = entries.get(id);
      if (entry === undefined || !isOpen(entry)) return false;
      end(entry, { kind: 'cancelled' });
      return true;
    },
    find: (id) => shown(findEntry(id)),
    startTry(id, means) {
      const entry = findEntry(id);
      // SECURITY: T-34 — counted before our share goes out: with it a guess can be checked, whatever happens then.
      entry.tries += 1;
      entry.underWay += 1;
      return tryOf(entry, means);
    },
  };

  function tryOf(entry: Entry, means: Means): InvitationTry {
    return {
      secret: entry.secrets[means],
      triesLeft: MAX_TRIES - entry.tries,
      claim() {
        // SECURITY: T-34 — single use: of two that know the secret, one gets in.
        if (!isOpen(entry)) throw refused({ code: entry.state === 'ended' ? entry.why : 'pairing.used' });
        entry.state = 'claimed';
        return { end: (how) => end(entry, how) };
      },
      failed() {
        entry.underWay -= 1;
        if (entry.state === 'open' && entry.underWay === 0 && entry.tries >= MAX_TRIES) end(entry, { kind: 'burnt' });
      },
    };
  }

  /** So that whoever waits for the end hears of it though nobody comes. */
  function expireInTime(entry: Entry, ended: Promise<unknown>): void {
    const over = new AbortController();
    void ended.then(() => over.abort());
    clock.sleep(INVITATION_LIFE_MS, over.signal).then(
      () => isOpen(entry),
      () => undefined,
    );
  }
}

const WHY: Readonly<Record<InvitationEnd['kind'], RefusalCode>> = {
  burnt: 'pairing.burnt',
  cancelled: 'pairing.cancelled',
  expired: 'pairing.expired',
  paired: 'pairing.used',
  failed: 'pairing.used',
};

function whyNotNow({ state }: Entry): RefusalCode {
  return state === 'claimed' ? 'pairing.used' : 'pairing.burnt';
}

function lastOf(entries: ReadonlyMap<string, Entry>): Entry | undefined {
  return [...entries.values()].at(-1);
}

function shown({ id, terms, expiresAt, tries }: Entry): Invitation {
  return { id, ...terms, expiresAt, triesLeft: MAX_TRIES - tries };
}

function checkTerms({ kind, name }: InvitationTerms, openOnes: number): void {
  checkDeviceName(name);
  if (!DEVICE_KINDS.includes(kind)) {
    throw new PairingError('pairing.invalid_invitation', 'There is no such kind of device.', {
      fix: `Choose one of ${DEVICE_KINDS.join(', ')}.`,
    });
  }
  if (openOnes < MAX_OPEN) return;
  throw new PairingError('pairing.invalid_invitation', `${MAX_OPEN} devices are invited already.`, {
    fix: 'Wait until one has joined, or cancel one.',
  });
}

/** Uniform: what would favour some PINs is drawn again. */
function newPin(randomBytes: RandomBytes): string {
  const values = 10 ** 8;
  const fair = Math.floor(2 ** 32 / values) * values;
  for (;;) {
    const drawn = new DataView(randomBytes(4).buffer).getUint32(0);
    if (drawn < fair) return String(drawn % values).padStart(8, '0');
  }
}

function newCode(randomBytes: RandomBytes): string {
  return Buffer.from(randomBytes(16)).toString('base64url');
}
