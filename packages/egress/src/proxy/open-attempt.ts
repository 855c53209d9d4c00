import { denial, type EgressDenial } from '../denial.ts';
import type { AttemptProtocol, ConnectionAttempt } from '../egress-call.ts';
import type { Target } from '../hosts/target.ts';

/** One attempt while it lasts. Whoever opened it ends it, once, whatever happens. */
export interface OpenAttempt {
  readonly target: Target;
  /** Somebody was asked about it. */
  asked(): void;
  /** It is allowed, and this is the address it was connected to. */
  reached(address: string): void;
  named(sni: string): void;
  requested(): void;
  /** Bytes that are about to go to the tool, or to the host. False: they may not, and the connection is to be cut. */
  moveIn(bytes: number): boolean;
  moveOut(bytes: number): boolean;
  /** The end: `denied` and `failed` say why; `stopped` when it was allowed and is cut now. */
  end(how?: { readonly kind: 'denied' | 'failed' | 'stopped'; readonly denial: EgressDenial }): void;
  readonly hasEnded: boolean;
}

export interface ByteBudget {
  bytesIn: number;
  bytesOut: number;
}

export interface AttemptDeps {
  readonly number: number;
  readonly protocol: AttemptProtocol;
  readonly target: Target;
  /** What is left of the call's bytes, shared by its attempts. */
  readonly budget: ByteBudget;
  now(): number;
  tell(attempt: ConnectionAttempt): void;
}

export function openAttempt({ number, protocol, target, budget, now, tell }: AttemptDeps): OpenAttempt {
  const record: { -readonly [Key in keyof ConnectionAttempt]: ConnectionAttempt[Key] } = {
    number,
    at: now(),
    protocol,
    host: target.host,
    port: target.port,
    outcome: 'failed',
    bytesIn: 0,
    bytesOut: 0,
  };
  return {
    target,
    asked() {
      record.asked = true;
    },
    reached(address) {
      record.outcome = 'allowed';
      record.address = address;
      tell({ ...record });
    },
    named(sni) {
      record.sni = sni.slice(0, 255);
    },
    requested() {
      record.requests = (record.requests ?? 0) + 1;
    },
    moveIn(bytes) {
      // SECURITY: T-17 — counted before they go on, so that a limit is one.
      if (bytes > budget.bytesIn) return false;
      budget.bytesIn -= bytes;
      record.bytesIn += bytes;
      return true;
    },
    moveOut(bytes) {
      if (bytes > budget.bytesOut) return false;
      budget.bytesOut -= bytes;
      record.bytesOut += bytes;
      return true;
    },
    end(how) {
      if (record.endedAt !== undefined) return;
      record.endedAt = now();
      if (how !== undefined) {
        record.denial = how.denial;
        if (how.kind !== 'stopped') record.outcome = how.kind;
      } else if (record.outcome === 'failed') {
        record.denial = denial('egress.cancelled', target);
      }
      tell({ ...record });
    },
    get hasEnded() {
      return record.endedAt !== undefined;
    },
  };
}
