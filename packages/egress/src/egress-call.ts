import type { Duplex } from 'node:stream';
import type { SecretText } from '@palyra/primitives';
import type { EgressDenial } from './denial.ts';
import type { HostRule } from './hosts/host-rule.ts';
import type { Target } from './hosts/target.ts';

/** What one call may use up; all its connections together unless said otherwise. */
export interface EgressLimits {
  /** Open at one time, held ones included. */
  readonly connections: number;
  /** Recorded one by one; further ones are refused and counted. */
  readonly attempts: number;
  /** Different hosts that may be asked about. */
  readonly questions: number;
  /** From the hosts to the tool. */
  readonly bytesIn: number;
  /** From the tool to the hosts. */
  readonly bytesOut: number;
  /** For a whole request head, from its first byte on. */
  readonly headMs: number;
  /** Resolving and connecting together. */
  readonly connectMs: number;
  /** One connection without a byte in either direction. */
  readonly idleMs: number;
  /** One connection from its beginning to its end. */
  readonly connectionMs: number;
}

export const DEFAULT_EGRESS_LIMITS: EgressLimits = {
  connections: 256,
  attempts: 10_000,
  questions: 16,
  bytesIn: 8 * 2 ** 30,
  bytesOut: 2 * 2 ** 30,
  headMs: 15_000,
  connectMs: 20_000,
  idleMs: 300_000,
  connectionMs: 24 * 3_600_000,
};

export type AskAnswer = { readonly kind: 'allowed' } | { readonly kind: 'denied'; readonly denial: EgressDenial };

/** Headers for a bound host. They are put on requests to exactly that target, in place of what the tool sent under these names. */
export interface CredentialBinding {
  readonly headers: Readonly<Record<string, SecretText>>;
}

/** One call's way out. */
export interface EgressCall {
  /** Unguessable, for one call; printable ASCII without spaces, 16 to 128 characters. */
  readonly label: string;
  /** `none`: every host, still recorded; addresses that are never reached are refused all the same. */
  readonly mode: 'strict' | 'none';
  readonly rules: readonly HostRule[];
  /** The operator's explicit exceptions: `10.0.0.0/8`, or `127.0.0.1:8080`. */
  readonly privateRanges: readonly string[];
  readonly limits: EgressLimits;
  /** Names that the operator has addresses for, as in a hosts file. They are asked of nobody, and checked like any other. */
  readonly pinned?: Readonly<Record<string, readonly string[]>>;
  /** `refuse` unless told: with Encrypted ClientHello the name in the handshake may not be the one that is reached. */
  readonly encryptedHello?: 'refuse' | 'allow';
  /** Hosts, each by its name, whose TLS is ended by a CA of this call, so that credentials can be put on their requests. None unless told. */
  readonly terminate?: readonly HostRule[];
  /** PEM of further authorities for TLS that the proxy itself opens (terminated hosts, fetch). */
  readonly authorities?: readonly string[];
  /**
   * For a target that no rule covers; its connections are held meanwhile. One question for each host and port, and its answer
   * holds for the call. Absent: denied. What it throws is a denial. `signal` when nobody waits any more.
   */
  ask?(target: Target, signal: AbortSignal): Promise<AskAnswer>;
  /** Asked for each request whose headers can be seen: plain HTTP, terminated TLS, fetch. What it throws ends the request. */
  credential?(target: Target): Promise<CredentialBinding | undefined>;
  /** As soon as an attempt is decided, and again when it has ended. */
  onAttempt?(attempt: ConnectionAttempt): void;
  /**
   * For connections that want palyrad itself and no host: each that comes in by this call's listener is the call's, and
   * ends with it. Absent: there is no such thing here. It is no attempt, and uses up nothing but room for connections.
   */
  door?(connection: Duplex): void;
}

export type AttemptProtocol = 'http' | 'connect' | 'socks5' | 'fetch' | 'unknown';

/** One connection to a host, or a try at one. Requests on one kept-alive connection are one attempt. */
export interface ConnectionAttempt {
  /** Counts the attempts of a call from 1. */
  readonly number: number;
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
  readonly protocol: AttemptProtocol;
  /** In its one spelling; when it has none, what was written, made harmless. */
  readonly host: string;
  readonly port: number;
  /** What was connected to. */
  readonly address?: string;
  readonly outcome: 'allowed' | 'denied' | 'failed';
  /** For `denied` and `failed`; also for `allowed` when it was ended early. */
  readonly denial?: EgressDenial;
  /** Whether somebody was asked. */
  readonly asked?: boolean;
  readonly bytesIn: number;
  readonly bytesOut: number;
  /** Requests that could be told apart. */
  readonly requests?: number;
  readonly endedAt?: number;
  readonly sni?: string;
  /** More than one when further attempts were refused without a record of their own. */
  readonly times?: number;
}
