import type { ToolAttestation } from '../format/attestation.ts';
import { bytesOfBase64, hexOf, utf8 } from '../format/bytes.ts';
import type { VerifyCrypto } from '../format/crypto.ts';
import type { EntryData } from '../format/entry-kinds.ts';
import { parseVkey } from '../format/signed-note.ts';
import { checkProvenAttestation, faultInSnapshot, isCommitted } from './attested-entry.ts';
import { type Bundle, type BundledBody, parseBundle } from './bundle-format.ts';
import { checkProvenEntry } from './proven-entry.ts';
import type { Established, Finding, VerifyPins } from './report.ts';
import {
  type Checked,
  checkHead,
  differsFromRemembered,
  establish,
  fails,
  RETIREMENT_UNKNOWN,
  type SignedHead,
} from './signed-head.ts';
import { bytesOf } from './written-log.ts';

export type BundleReport =
  | {
      readonly kind: 'sound';
      readonly origin: string;
      readonly rootKey: string;
      /** Of the checkpoint. */
      readonly size: number;
      readonly root: string;
      readonly established: Established;
      /** Where the attestation stands in the log, and the time its entry has there. */
      readonly journal_seq: number;
      readonly time: number;
      readonly attestation: ToolAttestation;
      readonly input: BodyStanding;
      readonly output: BodyStanding;
      readonly remarks: readonly string[];
    }
  | { readonly kind: 'broken'; readonly origin: string; readonly finding: Finding };

export type BodyStanding =
  /** It is here, and is the one that was committed to. */
  | 'checked'
  /** Only its salt is here, which nothing can be said of without the body. */
  | 'salt only'
  /** Neither: it was erased, or left out. */
  | 'left out'
  /** The call had none. */
  | 'none';

export interface VerifyBundleOptions {
  readonly crypto: VerifyCrypto;
  readonly pins: VerifyPins;
  /** The bodies, from whoever has them. */
  readonly input?: Uint8Array;
  readonly output?: Uint8Array;
}

/** Throws `journal.invalid_export` and `journal.invalid_key` for what is no bundle; a bundle that lies is `broken`. */
export async function verifyBundle(text: string, options: VerifyBundleOptions): Promise<BundleReport> {
  const bundle = parseBundle(text);
  const checked = await checkBundle(bundle, options);
  if (checked.kind === 'fails') return { kind: 'broken', origin: bundle.origin, finding: checked.finding };
  return checked.value;
}

async function checkBundle(
  bundle: Bundle,
  options: VerifyBundleOptions,
): Promise<Checked<Extract<BundleReport, { kind: 'sound' }>>> {
  const { crypto, pins } = options;
  const rootKey = hexOf(parseVkey(bundle.root_key, crypto.sha256).publicKey);
  const checkedHead = await checkHead({ ...bundle, rootKey }, { crypto, pins });
  if (checkedHead.kind === 'fails') return checkedHead;
  const head = checkedHead.value;
  const forked = differsFromRemembered(head, pins);
  if (forked !== undefined) return { kind: 'fails', finding: forked };

  const attested = await checkAttested(bundle, head, crypto);
  if (attested.kind === 'fails') return attested;
  const attestation = attested.value;

  const anchored = checkAnchor(bundle, attestation, { head, crypto });
  if (anchored !== undefined) return { kind: 'fails', finding: anchored };
  const snapshot = faultInSnapshot(attestation.policy_snapshot_sha256, bundle.snapshot, crypto.sha256);
  if (snapshot !== undefined) return { kind: 'fails', finding: snapshot };
  const input = standingOf('input', bundle, { attestation, options });
  const output = standingOf('output', bundle, { attestation, options });
  if (input === 'swapped' || output === 'swapped') {
    const which = input === 'swapped' ? 'input' : 'output';
    return fails('body_swapped', `The ${which} is not the one that was committed to.`, bundle.attestation.seq);
  }
  const established = await establish([head], { crypto, pins });
  return {
    kind: 'holds',
    value: {
      kind: 'sound',
      origin: head.origin,
      rootKey,
      size: head.size,
      root: hexOf(head.root),
      established,
      journal_seq: bundle.attestation.seq,
      time: bundle.attestation.time,
      attestation,
      input,
      output,
      remarks: remarksOn(established),
    },
  };
}

async function checkAttested(
  { attestation: written, envelope, execution }: Bundle,
  head: SignedHead,
  crypto: VerifyCrypto,
): Promise<Checked<ToolAttestation>> {
  const entry = checkProvenEntry(written, head, crypto.sha256);
  if (entry.kind === 'fails') return entry;
  if (entry.value.kind !== 'attestation') {
    return fails('attestation_moved', `Entry ${written.seq} is not that of an attestation.`, written.seq);
  }
  const attested = {
    seq: written.seq,
    data: entry.value.data,
    envelope: { salt: bytesOf(envelope.salt), bytes: utf8(envelope.text) },
    executionSalt: bytesOf(execution.salt),
  };
  return checkProvenAttestation(attested, head, crypto);
}

/** The intent, or the decision, that the attestation says it was about. */
function checkAnchor(
  { anchor: written, attestation: { seq } }: Bundle,
  attestation: ToolAttestation,
  { head, crypto }: { readonly head: SignedHead; readonly crypto: VerifyCrypto },
): Finding | undefined {
  const entry = checkProvenEntry(written, head, crypto.sha256);
  if (entry.kind === 'fails') return entry.finding;
  const { anchor } = attestation;
  if (anchor.seq !== written.seq || anchor.hash !== written.hash || written.seq >= seq) {
    return moved(seq, `The attestation is anchored at entry ${anchor.seq}, and the file shows entry ${written.seq}.`);
  }
  const { kind, data } = entry.value;
  if (kind !== anchor.kind || (kind !== 'intent' && kind !== 'decision')) {
    return moved(seq, `The attestation is anchored at an entry of the kind ${kind}.`);
  }
  const differing = SHARED.find((name) => data[name] !== attestation[name]);
  if (differing !== undefined) {
    return moved(seq, `The attestation is anchored at an entry with another ${differing}.`);
  }
  if ((data as EntryData<'intent'>).policy_snapshot === attestation.policy_snapshot_sha256) return undefined;
  return moved(seq, 'The attestation names another policy snapshot than the entry it is anchored at.');
}

const SHARED = ['run_id', 'session_id', 'call_id', 'principal', 'tool'] as const;

function moved(seq: number, why: string): Finding {
  return { code: 'attestation_moved', seq, why };
}

function standingOf(
  which: 'input' | 'output',
  bundle: Bundle,
  { attestation, options }: { readonly attestation: ToolAttestation; readonly options: VerifyBundleOptions },
): BodyStanding | 'swapped' {
  const commitment = attestation[`${which}_sha256`];
  const bundled: BundledBody | undefined = bundle[which];
  if (commitment === undefined) return bundled === undefined ? 'none' : 'swapped';
  if (bundled === undefined) return 'left out';
  const bodies = [
    ...(bundled.body === undefined ? [] : [bytesOfBase64(bundled.body)]),
    ...(options[which] === undefined ? [] : [options[which]]),
  ];
  if (bodies.length === 0) return 'salt only';
  const salt = bytesOf(bundled.salt);
  const { sha256 } = options.crypto;
  const areAll = bodies.every((bytes) => bytes !== undefined && isCommitted(commitment, { salt, bytes }, sha256));
  return areAll ? 'checked' : 'swapped';
}

function remarksOn({ level }: Established): readonly string[] {
  const about: readonly string[] = [
    'A bundle shows that the attestation is in the log, not what else the log holds.',
    RETIREMENT_UNKNOWN,
  ];
  return level === 'self_consistent'
    ? ['No root key was pinned: the file is only known to agree with itself.', ...about]
    : about;
}
