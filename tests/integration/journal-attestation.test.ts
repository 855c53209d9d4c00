/** Attestations verify with programs that are not ours: sigstore's verifier, and openssl with nothing but the key. */
import { execFile } from 'node:child_process';
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createTemporaryHome } from '@palyra/testkit';
import { bundleFromJSON, envelopeFromJSON } from '@sigstore/bundle';
import { toSignedEntity, toTrustMaterial, Verifier } from '@sigstore/verify';
import { describe, expect, test } from 'vitest';
import { signAttestation, type ToolAttestation } from '../../packages/journal/src/format/attestation.ts';
import { commitmentOf } from '../../packages/journal/src/format/commitment.ts';
import type { Signer } from '../../packages/journal/src/format/crypto.ts';
import { executionRecordOf } from '../../packages/journal/src/format/execution-record.ts';
import { nodeSha256 } from '../../packages/journal/src/node-crypto.ts';

const run = promisify(execFile);

const { publicKey, privateKey } = generateKeyPairSync('ed25519');
const envelope = signAttestation(attestationOfARefusal(), createSigner(publicKey, privateKey), nodeSha256);
const { payload, payloadType, signatures } = JSON.parse(envelope) as WrittenEnvelope;
const [{ keyid, sig }] = signatures;

interface WrittenEnvelope {
  readonly payload: string;
  readonly payloadType: string;
  readonly signatures: readonly [{ readonly keyid: string; readonly sig: string }];
}

describe("sigstore's verifier", () => {
  test('accepts an attestation, given the public key', () => {
    expect(() => verifyWithSigstore(envelope)).not.toThrow();
  });

  test('reads the in-toto statement that we wrote', () => {
    const opened = envelopeFromJSON(JSON.parse(envelope));
    expect(JSON.parse(opened.payload.toString('utf8'))).toMatchObject({
      _type: 'https://in-toto.io/Statement/v1',
      subject: [{ name: 'palyra:call:01JQZ0000000000000000000CA' }],
      predicateType: 'https://palyra.dev/attestation/tool-call/v1',
      predicate: { sandbox_enforcement: 'not_executed', executor: 'none' },
    });
  });

  test.for([
    ['payload', { payload: flipBit(payload) }],
    ['type', { payloadType: 'application/vnd.in-toto+jsoo' }],
    ['signature', { signatures: [{ keyid, sig: flipBit(sig) }] }],
  ] as const)('refuses it with one bit of its %s flipped', ([, fields]) => {
    const changed = JSON.stringify({ payload, payloadType, signatures, ...fields });
    expect(() => verifyWithSigstore(changed)).toThrow(
      expect.objectContaining({ code: 'SIGNATURE_ERROR', message: 'signature verification failed' }),
    );
  });

  test('refuses it under the key of another', () => {
    expect(() => verifyWithSigstore(envelope, generateKeyPairSync('ed25519').publicKey)).toThrow(
      expect.objectContaining({ code: 'SIGNATURE_ERROR' }),
    );
  });
});

describe('openssl', () => {
  test('verifies the signature over what the envelope says was signed', async () => {
    expect(await verifyWithOpenssl(payload, sig)).toEqual({ code: 0, said: 'Signature Verified Successfully' });
  });

  test.for([
    ['payload', flipBit(payload), sig],
    ['signature', payload, flipBit(sig)],
  ] as const)('refuses it with one bit of its %s flipped', async ([, signed, by]) => {
    expect(await verifyWithOpenssl(signed, by)).toEqual({ code: 1, said: 'Signature Verification Failure' });
  });
});

function verifyWithSigstore(text: string, key: KeyObject = publicKey): void {
  const bundle = bundleFromJSON({
    mediaType: 'application/vnd.dev.sigstore.bundle.v0.3+json',
    dsseEnvelope: JSON.parse(text) as object,
    verificationMaterial: { publicKey: { hint: keyid } },
  });
  const noAuthorities = { mediaType: '', certificateAuthorities: [], timestampAuthorities: [], tlogs: [], ctlogs: [] };
  const trusted = toTrustMaterial(noAuthorities, (hint) => {
    expect(hint).toBe(keyid);
    return { publicKey: key, validFor: () => true };
  });
  const verifier = new Verifier(trusted, { tlogThreshold: 0, ctlogThreshold: 0, timestampThreshold: 0 });
  verifier.verify(toSignedEntity(bundle));
}

/** The signed bytes are put together here once more, as whoever checks by hand would. */
async function verifyWithOpenssl(signed: string, by: string): Promise<{ code: number; said: string }> {
  await using home = await createTemporaryHome();
  const place = (name: string) => join(home.path, name);
  const body = Buffer.from(signed, 'base64');
  const head = Buffer.from(`DSSEv1 ${payloadType.length} ${payloadType} ${body.length} `);
  await writeFile(place('key.pem'), publicKey.export({ type: 'spki', format: 'pem' }));
  await writeFile(place('pae.bin'), Buffer.concat([head, body]));
  await writeFile(place('sig.bin'), Buffer.from(by, 'base64'));
  const files = ['-inkey', place('key.pem'), '-in', place('pae.bin'), '-sigfile', place('sig.bin')];
  const done = await run('openssl', ['pkeyutl', '-verify', '-rawin', '-pubin', ...files]).then(
    ({ stdout }) => ({ code: 0, stdout }),
    (error: unknown) => error as { code: number; stdout: string },
  );
  return { code: done.code, said: done.stdout.trim() };
}

/** The lowest bit of the first byte, so that the text stays base64. */
function flipBit(base64: string): string {
  const bytes = Buffer.from(base64, 'base64');
  bytes[0] = (bytes[0] ?? 0) ^ 1;
  return bytes.toString('base64');
}

function createSigner(verifying: KeyObject, signing: KeyObject): Signer {
  return {
    publicKey: verifying.export({ type: 'spki', format: 'der' }).subarray(-32),
    sign: (message) => sign(null, message, signing),
  };
}

function attestationOfARefusal(): ToolAttestation {
  const fields: Omit<ToolAttestation, 'execution_sha256'> = {
    attestation_id: '01JQZ0000000000000000000AT',
    origin: 'palyra.local/ada',
    run_id: '01JQZ0000000000000000000RN',
    session_id: '01JQZ0000000000000000000SN',
    call_id: '01JQZ0000000000000000000CA',
    principal: 'agent:coder',
    tool: 'process.run',
    input_sha256: '1'.repeat(64),
    executor: 'none',
    sandbox_enforcement: 'not_executed',
    separation: 'personal',
    coverage: 'wrapped',
    limits: {},
    egress: [],
    policy_snapshot_sha256: '4'.repeat(64),
    policy_set_sha256: '5'.repeat(64),
    decision: { kind: 'deny', policy_ids: ['coding/no-root'], reason_code: 'forbidden' },
    outcome: { kind: 'refused', code: 'policy.forbidden' },
    decided_at: 1_760_000_000_000,
    anchor: { kind: 'decision', seq: 16, hash: '7'.repeat(64) },
  };
  const salt = new Uint8Array(32).fill(9);
  const execution = commitmentOf(salt, executionRecordOf(fields), nodeSha256);
  return { ...fields, execution_sha256: Buffer.from(execution).toString('hex') };
}
