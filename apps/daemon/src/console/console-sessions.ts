import type { Device, Registry } from '@palyra/identity';
import { type Clock, equalInConstantTime, type RandomBytes, secureRandomBytes, sha256Hex } from '@palyra/primitives';
import { DaemonError } from '../daemon-error.ts';

/** Who sits at a browser. In memory: a restart ends all of them. */
export interface ConsoleSessions {
  /** Good for one browser, once, for a minute. Throws `daemon.too_many`. */
  invite(device: Device['id']): { readonly code: string; readonly expiresAt: number };
  /** The two halves of a session for a code, or undefined when it is not one. */
  enter(code: string): Promise<NewSession | undefined>;
  /** Whose it is, by both halves; undefined when it is over, or its device does not count any more. */
  find(halves: SessionHalves): Promise<Device | undefined>;
  leave(halves: SessionHalves): void;
}

/**
 * SECURITY: T-48 — a cookie goes to every port of this host, so any program here that serves a page may be sent it; the key
 * stays in the page's own storage, which is of one origin, port included. Neither is enough.
 */
export interface SessionHalves {
  readonly cookie: string;
  readonly key: string;
}

export interface NewSession extends SessionHalves {
  readonly device: Device;
}

export interface ConsoleSessionsDeps {
  readonly registry: Pick<Registry, 'find'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly random?: RandomBytes;
}

const INVITATION_MS = 60_000;
const MOST_INVITED = 16;
const LONGEST_MS = 8 * 3_600_000;
const IDLE_MS = 30 * 60_000;
const MOST_SESSIONS = 64;

interface Session {
  readonly device: Device['id'];
  readonly keyDigest: string;
  readonly endsAt: number;
  seenAt: number;
}

export function createConsoleSessions(deps: ConsoleSessionsDeps): ConsoleSessions {
  const { registry, clock, random = secureRandomBytes } = deps;
  // Digests: a look into memory or a core dump gives nobody a session.
  const invited = new Map<string, { readonly device: Device['id']; readonly expiresAt: number }>();
  const sessions = new Map<string, Session>();
  const secret = () => Buffer.from(random(32)).toString('base64url');

  const standing = async (id: Device['id']): Promise<Device | undefined> => {
    const device = await registry.find(id);
    // SECURITY: T-35 — asked each time: with the device its sessions end.
    return device?.revoked === null && device.kind === 'operator' ? device : undefined;
  };
  const sweep = () => {
    const now = clock.now();
    for (const [digest, { expiresAt }] of invited) if (now >= expiresAt) invited.delete(digest);
    for (const [digest, { endsAt, seenAt }] of sessions) {
      if (now >= endsAt || now - seenAt >= IDLE_MS) sessions.delete(digest);
    }
  };
  return {
    invite(device) {
      sweep();
      if (invited.size >= MOST_INVITED) {
        throw new DaemonError('daemon.too_many', 'Too many browsers are invited already.', { fix: 'Wait a minute.' });
      }
      const code = secret();
      const expiresAt = clock.now() + INVITATION_MS;
      invited.set(digestOf(code), { device, expiresAt });
      return { code, expiresAt };
    },
    async enter(code) {
      sweep();
      const found = invited.get(digestOf(code));
      // SECURITY: T-37 — used up by the first try, before anything is waited for: of two that know it, one gets in.
      invited.delete(digestOf(code));
      const device = found === undefined ? undefined : await standing(found.device);
      if (device === undefined || sessions.size >= MOST_SESSIONS) return undefined;
      // SECURITY: T-37 — both halves are made here and now: what a browser brought along fixes nothing.
      const [cookie, key, now] = [secret(), secret(), clock.now()];
      const session = { device: device.id, keyDigest: digestOf(key), endsAt: now + LONGEST_MS, seenAt: now };
      sessions.set(digestOf(cookie), session);
      return { device, cookie, key };
    },
    async find({ cookie, key }) {
      sweep();
      const session = sessions.get(digestOf(cookie));
      if (session === undefined || !isEqual(session.keyDigest, digestOf(key))) return undefined;
      session.seenAt = clock.now();
      return standing(session.device);
    },
    leave: ({ cookie, key }) => {
      const session = sessions.get(digestOf(cookie));
      if (session !== undefined && isEqual(session.keyDigest, digestOf(key))) sessions.delete(digestOf(cookie));
    },
  };
}

function digestOf(text: string): string {
  return sha256Hex(Buffer.from(text));
}

function isEqual(left: string, right: string): boolean {
  return equalInConstantTime(Buffer.from(left), Buffer.from(right));
}
