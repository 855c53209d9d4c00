import { createPrivateKey, createPublicKey, sign } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import {
  attestationIn,
  readAttestation,
  signAttestation,
  type ToolAttestation,
  writeAttestation,
} from './format/attestation.ts';
import { bytesOfHex, hexOf } from './format/bytes.ts';
import { commitmentOf } from './format/commitment.ts';
import type { Signer } from './format/crypto.ts';
import { isEnvelopeSignedBy, openEnvelope, preAuthEncoding } from './format/dsse.ts';
import { executionRecordOf } from './format/execution-record.ts';
import { parsePolicySnapshot, policySnapshotDigest, policySnapshotText } from './format/policy-snapshot.ts';
import { parseVkey } from './format/signed-note.ts';
import { nodeCrypto, nodeSha256 as sha256 } from './node-crypto.ts';
import { type Bundle, parseBundle, writeBundle } from './verify/bundle-format.ts';
import { parseExportLine, writeExportLine } from './verify/export-format.ts';
import type { VerifyPins } from './verify/report.ts';
import { verifyBundle } from './verify/verify-bundle.ts';
import { verifyExport } from './verify/verify-export.ts';

const VECTORS = new URL('../../../tests/vectors/journal/', import.meta.url);
const textOfFile = (name: string): string => readFileSync(new URL(name, VECTORS), 'utf8');
const bytes = (hex: string): Uint8Array => bytesOfHex(hex) as Uint8Array;

interface AttestationVector {
  readonly seed: string;
  readonly public_key: string;
  readonly execution: { readonly salt: string; readonly record: string; readonly execution_sha256: string };
  readonly predicate: ToolAttestation;
  readonly payload: string;
  readonly pre_auth_encoding: string;
  readonly envelope: string;
  readonly snapshot: { readonly text: string; readonly digest: string };
}

const vector = JSON.parse(textOfFile('attestation.json')) as AttestationVector;
const { witness } = JSON.parse(textOfFile('checkpoint.json')) as {
  witness: { vkey: string; name: string; time: number };
};

/** PKCS #8 of an Ed25519 key up to its seed (RFC 8410). */
const PKCS8 = '302e020100300506032b657004220420';

function signerOf(seed: string): Signer {
  const key = createPrivateKey({ key: Buffer.from(PKCS8 + seed, 'hex'), format: 'der', type: 'pkcs8' });
  const publicKey = createPublicKey(key).export({ type: 'spki', format: 'der' }).subarray(-32);
  return { publicKey: new Uint8Array(publicKey), sign: (message) => sign(null, message, key) };
}

describe('the receipt', () => {
  const { execution, predicate, payload, envelope, snapshot } = vector;

  test('commits to the record of its execution', () => {
    const record = executionRecordOf(predicate);
    expect(Buffer.from(record).toString()).toBe(execution.record);
    expect(hexOf(commitmentOf(bytes(execution.salt), record, sha256))).toBe(execution.execution_sha256);
    expect(predicate.execution_sha256).toBe(execution.execution_sha256);
  });

  test('is written and signed as given', () => {
    const signer = signerOf(vector.seed);
    expect(hexOf(signer.publicKey)).toBe(vector.public_key);
    expect(Buffer.from(writeAttestation(predicate)).toString()).toBe(payload);
    const signed = preAuthEncoding('application/vnd.in-toto+json', Buffer.from(payload));
    expect(hexOf(signed)).toBe(vector.pre_auth_encoding);
    expect(signAttestation(predicate, signer, sha256)).toBe(envelope);
  });

  test('is read back, and its signature holds', async () => {
    const opened = openEnvelope(envelope);
    expect(attestationIn(opened)).toEqual(predicate);
    expect(readAttestation(Buffer.from(payload))).toEqual(predicate);
    expect(await isEnvelopeSignedBy(opened, bytes(vector.public_key), nodeCrypto)).toBe(true);
  });

  test('names its policy snapshot by its digest', () => {
    const parsed = parsePolicySnapshot(JSON.parse(snapshot.text));
    expect([policySnapshotText(parsed), policySnapshotDigest(parsed, sha256)]).toEqual([
      snapshot.text,
      snapshot.digest,
    ]);
    expect(predicate.policy_snapshot_sha256).toBe(snapshot.digest);
  });
});

const bundleText = textOfFile('bundle.json');
const exportText = textOfFile('export.ndjson');
const bundle: Bundle = parseBundle(bundleText);
const pins: VerifyPins = {
  rootKey: parseVkey(bundle.root_key, sha256).publicKey,
  witnesses: [parseVkey(witness.vkey, sha256)],
  checkpoints: [],
};

describe('the bundle', () => {
  test('is spelled as given, and verifies as witnessed', async () => {
    expect(writeBundle(bundle)).toBe(bundleText);
    expect(await verifyBundle(bundleText, { crypto: nodeCrypto, pins })).toMatchObject({
      kind: 'sound',
      size: 8,
      established: { level: 'witnessed', witness: witness.name, time: witness.time, size: 8 },
      journal_seq: 7,
      attestation: vector.predicate,
      input: 'checked',
      output: 'checked',
    });
  });

  test('does not verify with one letter changed', async () => {
    const changed = bundleText.replace('agent:coder', 'agent:codes');
    expect(await verifyBundle(changed, { crypto: nodeCrypto, pins })).toMatchObject({ kind: 'broken' });
  });
});

describe('the export', () => {
  const lines = exportText.split('\n').slice(0, -1);

  test('is spelled as given, and verifies under the root key', async () => {
    expect(lines.map((line) => writeExportLine(parseExportLine(line))).join('')).toBe(exportText);
    expect(await verifyExport(exportText, { crypto: nodeCrypto, pins })).toMatchObject({
      kind: 'sound',
      of: 'range',
      origin: bundle.origin,
      size: 8,
      established: { level: 'signed' },
      counts: { entries: 8, checkpoints: 2, attestations: 1, bodies: { checked: 4, erased: 0, leftOut: 0 } },
    });
  });

  test('does not verify without one of its lines', async () => {
    for (const at of lines.keys()) {
      const cut = lines.toSpliced(at, 1).map((line) => `${line}\n`);
      const verified = verifyExport(cut.join(''), { crypto: nodeCrypto, pins }).then(({ kind }) => kind);
      // The first of the two checkpoints is covered by the second; a file that does not begin with its header is no export.
      const answer = await verified.catch(() => 'no export');
      expect([at, answer]).toEqual([at, at === 0 ? 'no export' : at === 4 ? 'sound' : 'broken']);
    }
  });
});
