import type { VerifyCrypto } from '../format/crypto.ts';
import type { EntryData } from '../format/entry-kinds.ts';
import { JournalError } from '../journal-error.ts';
import { type AttestationPlace, checkAnchor, checkAttestation } from './check-attestation.ts';
import type { BodyChecks } from './check-bodies.ts';
import type { KeyRing } from './key-ring.ts';
import type { LogSource } from './log-source.ts';
import { type CallTrace, createOpenCalls, lookBack, type OpenCalls } from './open-calls.ts';
import type { Checked } from './pending-checks.ts';
import type { Finding } from './report.ts';

/** Every attestation against the call that it stands behind. */
export interface AttestedCalls {
  readonly note: OpenCalls['note'];
  check(data: EntryData<'attestation'>, seq: number): Checked;
  readonly unattested: OpenCalls['unattested'];
  readonly counts: { readonly attestations: number; readonly begunBeforeBase: number; readonly unchecked: number };
}

interface AttestedCallsDeps {
  readonly source: LogSource;
  /** Where the verification begins. */
  readonly first: number;
  readonly keys: Pick<KeyRing, 'validAt' | 'used'>;
  readonly bodies: BodyChecks;
  readonly crypto: VerifyCrypto;
}

export function createAttestedCalls({ source, first, keys, bodies, crypto }: AttestedCallsDeps): AttestedCalls {
  const calls = createOpenCalls(first);
  const counts = { attestations: 0, begunBeforeBase: 0, unchecked: 0 };
  let lookBacks = 0;
  const placeOf = (data: EntryData<'attestation'>, seq: number, call: CallTrace | 'unseen'): AttestationPlace => ({
    origin: source.origin,
    seq,
    data,
    call,
    keys: keys.validAt('attestation', seq + 1),
    used: (key) => keys.used(key, seq + 1),
    skipped() {
      counts.attestations -= 1;
      counts.unchecked += 1;
    },
  });
  const checkWhole = (place: AttestationPlace): Checked =>
    checkAnchor(place) ?? checkAttestation(place, { bodies, crypto });

  return {
    counts,
    note: (entry, at) => calls.note(entry, at),
    unattested: () => calls.unattested(),
    check(data, seq) {
      counts.attestations += 1;
      const call = calls.take(data.call_id);
      const isKnown = call !== 'unknown' && call.anchors.some((anchor) => anchor.seq === data.anchor_seq);
      if (isKnown) return checkWhole(placeOf(data, seq, call));
      if (data.anchor_seq < source.base.frontier.size) {
        counts.begunBeforeBase += 1;
        return checkWhole(placeOf(data, seq, 'unseen'));
      }
      if (!calls.mayBeForgotten(data.anchor_seq)) return adrift(seq, data.anchor_seq);
      lookBacks += 1;
      // SECURITY: T-39 — each reads the log again, and a file from a stranger could ask for it at every line.
      if (lookBacks > MOST_LOOK_BACKS) throw tooMany();
      // The keys are those of this place, not of where the log has been read to by the time the past is known.
      const place = placeOf(data, seq, 'unseen');
      return lookBack(source, { callId: data.call_id, from: data.anchor_seq, to: seq }).then((found) => {
        if (typeof found === 'string') return adrift(seq, data.anchor_seq);
        calls.recalled(found);
        return checkWhole({ ...place, call: found });
      });
    },
  };
}

function adrift(seq: number, anchorSeq: number): Finding {
  const why = `The attestation at entry ${seq} points at entry ${anchorSeq}, where no call is that was still to be attested.`;
  return { code: 'attestation_moved', seq, why };
}

const MOST_LOOK_BACKS = 1000;

function tooMany(): JournalError {
  return new JournalError(
    'journal.verification_limit',
    'More calls are open at once in this log than can be followed.',
  );
}
