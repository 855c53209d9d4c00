import { type Clock, type DeviceId, systemClock } from '@palyra/primitives';
import type { DeviceKind } from '../device-kind.ts';
import { type Refused, refused } from '../identity-error.ts';
import type { Registry, RegistryChange } from '../registry/open-registry.ts';
import type { CertificateFacts } from '../x509/certificate-facts.ts';
import { type Admission, admitDevice, type Peer } from './peer.ts';
import { createPeerReader, type PeerReaderDeps, type PeerSocket } from './read-peer.ts';

/** Says, for every request and for as long as a stream is open, whether the peer counts. */
export interface PeerGuard {
  /** For every request. Never throws: what cannot be found out is a refusal. */
  admit(socket: PeerSocket, options?: AdmitOptions): Promise<Admission>;
  /**
   * For whatever stays open. `end` is called once, and at most a second after the peer stopped counting: revoked on any
   * node, run out, or its authority not trusted any more.
   */
  hold(socket: PeerSocket, end: (why: Refused) => void, options?: AdmitOptions): Promise<Holding>;
  /** How many are held. */
  readonly holding: number;
  /** Ends nothing that is held; the listener does that. */
  close(): void;
}

export interface AdmitOptions {
  /** Whom this listener or request is for; all unless told. */
  readonly kinds?: readonly DeviceKind[];
}

export type Holding = { readonly kind: 'held'; readonly peer: Peer; release(): void } | Refused;

export interface PeerGuardDeps extends Pick<PeerReaderDeps, 'authority'> {
  readonly registry: Pick<Registry, 'find' | 'watch'>;
  readonly clock?: Clock;
  /** How often everything held is looked at, told or not. */
  readonly recheckMs?: number;
  /** How long the registry has for its answer; what is not known by then is a refusal. */
  readonly patienceMs?: number;
}

interface Held {
  readonly facts: CertificateFacts;
  readonly options: AdmitOptions;
  end(why: Refused): void;
}

const RECHECK_MS = 500;
/** Longer than a busy disk takes, and short of what a revoked device could do with a registry that is out of reach. */
const PATIENCE_MS = 3_000;

/** Resolves when every later change of the registry, from any process, will be heard. */
export async function createPeerGuard(deps: PeerGuardDeps): Promise<PeerGuard> {
  const { registry, authority, clock = systemClock, recheckMs = RECHECK_MS, patienceMs = PATIENCE_MS } = deps;
  const reader = createPeerReader({ authority, now: () => clock.now() });
  const held = new Set<Held>();
  const closing = new AbortController();

  const judge = async (facts: CertificateFacts, { kinds }: AdmitOptions): Promise<Admission> => {
    try {
      const stale = reader.judge(facts);
      if (stale !== undefined) return stale;
      // SECURITY: T-35 — a registry that does not answer must not keep open what it would have ended.
      const admission = admitDevice(facts, await within(registry.find(facts.device), patienceMs, clock));
      if (admission.kind === 'refused') return admission;
      // SECURITY: T-35 — an agent's certificate is as good as any other, and opens only what is for agents.
      return kinds === undefined || kinds.includes(admission.peer.kind) ? admission : refused('wrong_kind');
    } catch {
      // SECURITY: T-35 — a registry or an authority that cannot be read has not said that the peer still counts.
      return refused('registry_unavailable');
    }
  };
  const read = (socket: PeerSocket) => {
    try {
      return reader.read(socket);
    } catch {
      return refused('registry_unavailable');
    }
  };

  const recheck = async (each: Held): Promise<void> => {
    const admission = await judge(each.facts, each.options);
    if (admission.kind === 'refused' && held.delete(each)) endOne(each, admission);
  };
  /** Whatever it throws is its own affair: the others are still watched. */
  const endOne = (each: Held, why: Refused): void => {
    try {
      each.end(why);
    } catch {
      // Said by whoever threw it.
    }
  };
  const recheckAll = async (only?: DeviceId): Promise<void> => {
    await Promise.all([...held].filter(({ facts }) => only === undefined || facts.device === only).map(recheck));
  };
  const hear = (change: RegistryChange): void => void recheckAll(change.kind === 'changed' ? change.device : undefined);
  const subscription = await registry.watch(hear);

  // A notice can be lost with the connection that carried it, and nobody is told that a certificate has run out.
  let isWatching = false;
  const watch = async (): Promise<void> => {
    if (isWatching) return;
    isWatching = true;
    while (held.size > 0 && !closing.signal.aborted) {
      await clock.sleep(recheckMs, closing.signal).catch(() => undefined);
      if (!closing.signal.aborted) await recheckAll();
    }
    isWatching = false;
  };

  return {
    get holding() {
      return held.size;
    },
    async admit(socket, options = {}) {
      const reading = read(socket);
      return reading.kind === 'refused' ? reading : judge(reading.facts, options);
    },
    async hold(socket, end, options = {}) {
      const reading = read(socket);
      if (reading.kind === 'refused') return reading;
      const each: Held = { facts: reading.facts, options, end };
      // Before it is judged: a revocation in between is heard, and ends it.
      held.add(each);
      const admission = await judge(reading.facts, options);
      if (admission.kind === 'refused') {
        held.delete(each);
        return admission;
      }
      void watch();
      return { kind: 'held', peer: admission.peer, release: () => void held.delete(each) };
    },
    close() {
      closing.abort();
      subscription.close();
      held.clear();
    },
  };
}

/** Rejects when there is no answer in time; the question itself is left behind. */
async function within<Answer>(answer: Promise<Answer>, ms: number, clock: Clock): Promise<Answer> {
  const done = new AbortController();
  const late = clock.sleep(ms, done.signal).then((): never => {
    throw new Error('No answer in time.');
  });
  late.catch(() => undefined);
  answer.catch(() => undefined);
  try {
    return await Promise.race([answer, late]);
  } finally {
    // With a reason of its own: making the usual one would cost each request more than the rest of this.
    done.abort('answered');
  }
}
