import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { canonicalJsonBytes, type JsonObject } from '@palyra/primitives/browser';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { JournalError } from '../journal-error.ts';
import { nodeCrypto, nodeSha256 } from '../node-crypto.ts';
import {
  type AttestedApproval,
  attestationIn,
  finishPayload,
  MAX_PAYLOAD,
  PAYLOAD_TYPE,
  readAttestation,
  signAttestation,
  type ToolAttestation,
  writeAttestation,
  writeBehindAnchor,
} from './attestation.ts';
import type { Signer } from './crypto.ts';
import { isEnvelopeSignedBy, openEnvelope, signEnvelope } from './dsse.ts';

const ID = '01JQZ0000000000000000000';
const APPROVED: AttestedApproval = {
  approval_id: `${ID}AP`,
  outcome: 'approved',
  statement: '{ "approval_id": "…", "signature": "…" }',
  decider: 'user:ada',
  device_id: `${ID}DV`,
  scope: 'session',
  pattern: 'git push origin *',
  prompt_sha256: 'e'.repeat(64),
  assurance: 'separate_device',
};
const EXECUTED: ToolAttestation = {
  attestation_id: `${ID}AT`,
  origin: 'palyra.local/ada',
  run_id: `${ID}RN`,
  session_id: `${ID}SN`,
  call_id: `${ID}CA`,
  parent_call_id: `${ID}PA`,
  principal: 'agent:coder',
  device: `${ID}DV`,
  tool: 'process.run',
  input_sha256: '1'.repeat(64),
  output_sha256: '2'.repeat(64),
  execution_sha256: '3'.repeat(64),
  executor: 'sandbox_tier_c_linux_bubblewrap',
  sandbox_enforcement: 'strict',
  separation: 'personal',
  coverage: 'wrapped',
  reported_by: 'palyra',
  sandbox: { no_new_privs: true, seccomp: 'filter', uid: 1000, load: 0.25, namespaces: ['net', 'pid', 'user'] },
  limits: { cpu_ms: 30_000, memory_bytes: 2 ** 31 },
  resources: { cpu_ms: 12, wall_ms: 40, max_rss_bytes: 9_000_000 },
  egress: [
    { host: 'packages.example.org', port: 443, bytes_out: 900, bytes_in: 12_000, outcome: 'allowed' },
    { host: 'a\u202eb.example', port: 80, outcome: 'denied' },
  ],
  egress_left_out: 3,
  policy_snapshot_sha256: '4'.repeat(64),
  policy_set_sha256: '5'.repeat(64),
  decision: { kind: 'ask', policy_ids: ['coding/ask-network'], reason_code: 'approval_required' },
  approval: APPROVED,
  outcome: { kind: 'failed', code: 'tool.exit', exit_code: 1, signal: 'SIGTERM' },
  decided_at: 1_760_000_000_000,
  started_at: 1_760_000_000_500,
  ended_at: 1_760_000_000_540,
  anchor: { kind: 'intent', seq: 17, hash: '6'.repeat(64) },
};
const REFUSED: ToolAttestation = {
  ...without(
    EXECUTED,
    'output_sha256',
    'sandbox',
    'resources',
    'started_at',
    'ended_at',
    'approval',
    'egress_left_out',
  ),
  executor: 'none',
  sandbox_enforcement: 'not_executed',
  egress: [],
  decision: { kind: 'deny', policy_ids: ['coding/no-root'], reason_code: 'forbidden' },
  outcome: { kind: 'refused', code: 'policy.forbidden' },
  anchor: { kind: 'decision', seq: 16, hash: '7'.repeat(64) },
};
const CRASHED: ToolAttestation = {
  ...without(EXECUTED, 'output_sha256', 'sandbox', 'resources', 'ended_at'),
  outcome: { kind: 'unknown_outcome' },
};

function without<Name extends keyof ToolAttestation>(
  attestation: ToolAttestation,
  ...names: readonly Name[]
): Omit<ToolAttestation, Name> {
  const kept = Object.entries(attestation).filter(([name]) => !names.some((dropped) => dropped === name));
  return Object.fromEntries(kept) as unknown as Omit<ToolAttestation, Name>;
}

/** As a caller without types could. */
function withFields(attestation: object, fields: Readonly<Record<string, unknown>>): ToolAttestation {
  return { ...attestation, ...fields } as unknown as ToolAttestation;
}

function statementOf(attestation: ToolAttestation): JsonObject {
  return JSON.parse(new TextDecoder().decode(writeAttestation(attestation))) as JsonObject;
}

function createSigner(): Signer & { readonly privateKey: KeyObject } {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const raw = new Uint8Array(publicKey.export({ type: 'spki', format: 'der' }).subarray(-32));
  return { publicKey: raw, privateKey, sign: (message) => new Uint8Array(sign(null, message, privateKey)) };
}

const INVALID = { name: 'JournalError', code: 'journal.invalid_envelope' };

describe('an attestation', () => {
  test.for([
    ['of an executed call', EXECUTED],
    ['of a refusal', REFUSED],
    ['of a call that a crash cut short', CRASHED],
    ['of a crash before the start', without(CRASHED, 'started_at') as ToolAttestation],
  ] as const)('%s is read as it was written', ([, attestation]) => {
    expect(readAttestation(writeAttestation(attestation))).toEqual(attestation);
  });

  test('is an in-toto statement about its call and execution record', () => {
    const { predicate, ...envelope } = statementOf(EXECUTED);
    expect(predicate).toEqual(EXECUTED);
    expect(envelope).toEqual({
      _type: 'https://in-toto.io/Statement/v1',
      subject: [{ name: `palyra:call:${EXECUTED.call_id}`, digest: { sha256: EXECUTED.execution_sha256 } }],
      predicateType: 'https://palyra.dev/attestation/tool-call/v1',
    });
  });

  test('is written in the same bytes whatever the order of its fields', () => {
    const reversed = Object.fromEntries(Object.entries(EXECUTED).toReversed()) as unknown as ToolAttestation;
    expect(writeAttestation(reversed)).toEqual(writeAttestation(EXECUTED));
  });
});

describe('what is refused', () => {
  test.for([
    ['an unknown field', { journal_seq: 18 }, '"predicate/journal_seq" is unknown'],
    ['a field as undefined', { device: undefined }, 'holds what JSON cannot say'],
    ['a malformed id', { call_id: 'call-1' }, '"predicate/call_id" is not an id'],
    ['a digest in upper case', { input_sha256: 'A'.repeat(64) }, '"predicate/input_sha256" is not a SHA-256 digest'],
    ['an enforcement nobody knows', { sandbox_enforcement: 'total' }, '"predicate/sandbox_enforcement" is not one of'],
    ['a negative limit', { limits: { cpu_ms: -1 } }, '"predicate/limits/cpu_ms" is not a count'],
    ['a limit by a strange name', { limits: { __proto__x: 1 } }, '"predicate/limits/__proto__x" is not a name'],
    ['a fact within a fact', { sandbox: { a: { b: 1 } } }, '"predicate/sandbox/a" is neither text, number'],
    ['a fact beyond 2^53', { sandbox: { a: 2 ** 53 } }, '"predicate/sandbox/a" is neither text, number'],
    ['an overlong fact', { sandbox: { a: 'x'.repeat(4097) } }, '"predicate/sandbox/a" is not a text'],
    ['too many facts', { sandbox: { a: Array(1025).fill('x') } }, '"predicate/sandbox/a" has more than 1024 items'],
    ['an impossible port', { egress: [{ host: 'a', port: 65_536, outcome: 'allowed' }] }, '"predicate/egress/0/port"'],
    ['a getter', Object.defineProperty({}, 'tool', { get: () => 'x', enumerable: true }), ''],
    [
      'a policy id with a sentence',
      { decision: { ...EXECUTED.decision, policy_ids: ['a b'] } },
      'policy_ids/0" is not',
    ],
    ['a made-up signal', { outcome: { kind: 'failed', signal: 'kill' } }, '"predicate/outcome/signal" is not the name'],
    ['a statement that is no JSON', { approval: { ...APPROVED, statement: 'yes' } }, 'statement" is not the text of a'],
    [
      'one with a key twice',
      { approval: { ...APPROVED, statement: '{"a":1,"a":2}' } },
      'statement" is not the text of',
    ],
    ['half a character', { approval: { ...APPROVED, pattern: '\ud800' } }, 'holds what JSON cannot say'],
  ] as const)('%s', ([, fields, sentence]) => {
    const attestation = Object.defineProperties({ ...EXECUTED }, Object.getOwnPropertyDescriptors(fields));
    expect(() => writeAttestation(attestation)).toThrow(
      expect.objectContaining({ ...INVALID, message: expect.stringContaining(sentence) as string }),
    );
  });

  const optional: readonly (keyof ToolAttestation)[] = [
    'parent_call_id',
    'device',
    'output_sha256',
    'reported_by',
    'egress_left_out',
    'approval',
  ];
  const names = Object.keys(EXECUTED) as (keyof ToolAttestation)[];

  test.for(names.filter((name) => !optional.includes(name)))('an executed call without its %s', (name) => {
    const lacking = without(EXECUTED, name) as ToolAttestation;
    expect(() => writeAttestation(lacking)).toThrow(expect.objectContaining(INVALID));
  });

  test('nothing for lacking what not every call has', () => {
    const lacking = without(EXECUTED, ...optional) as ToolAttestation;
    expect(readAttestation(writeAttestation(lacking))).toEqual(lacking);
  });

  test('a payload of more than a mebibyte', () => {
    const facts = Array.from({ length: 300 }, (_, index) => [`fact_${index}`, 'x'.repeat(4000)]);
    expect(() => writeAttestation(withFields(EXECUTED, { sandbox: Object.fromEntries(facts) }))).toThrow(
      `An attestation is longer than ${MAX_PAYLOAD} bytes.`,
    );
  });
});

describe('a contradiction is refused, by the writer and by the reader', () => {
  test.for([
    ['a refusal that was enforced', REFUSED, { sandbox_enforcement: 'strict' }],
    ['a refusal with an executor', REFUSED, { executor: 'builtin' }],
    ['a refusal anchored at an intent', REFUSED, { anchor: EXECUTED.anchor }],
    ['a refusal that started', REFUSED, { started_at: 1 }],
    ['a refusal that ended', REFUSED, { ended_at: 1 }],
    ['a refusal with sandbox facts', REFUSED, { sandbox: {} }],
    ['a refusal that used resources', REFUSED, { resources: {} }],
    ['a refusal with output', REFUSED, { output_sha256: '2'.repeat(64) }],
    ['a refusal with connections', REFUSED, { egress: EXECUTED.egress }],
    ['a refusal with connections left out', REFUSED, { egress_left_out: 1 }],
    ['a refusal with an exit code', REFUSED, { outcome: { kind: 'refused', exit_code: 0 } }],
    ['a refusal by a signal', REFUSED, { outcome: { kind: 'refused', signal: 'SIGKILL' } }],
    ['an execution called a refusal', EXECUTED, { outcome: { kind: 'refused' } }],
    ['a refusal called a completion', REFUSED, { outcome: { kind: 'completed' } }],
    ['an execution that was not executed', EXECUTED, { sandbox_enforcement: 'not_executed' }],
    ['an execution by nothing', EXECUTED, { executor: 'none' }],
    ['an execution anchored at its decision', EXECUTED, { anchor: REFUSED.anchor }],
    ['a crash anchored at its decision', CRASHED, { anchor: REFUSED.anchor }],
    ['an approval nobody signed', EXECUTED, { approval: { ...APPROVED, statement: undefined } }],
    ['an approval by nobody', EXECUTED, { approval: { ...APPROVED, decider: undefined } }],
    ['an approval from nowhere', EXECUTED, { approval: { ...APPROVED, device_id: undefined } }],
    ['an approval of no scope', EXECUTED, { approval: { ...APPROVED, scope: undefined } }],
    ['a denial of no assurance', REFUSED, { approval: { ...APPROVED, outcome: 'denied', assurance: undefined } }],
  ] as const)('%s', ([, attestation, fields]) => {
    const changed = JSON.parse(JSON.stringify({ ...attestation, ...fields })) as ToolAttestation & JsonObject;
    const contradicts = expect.objectContaining({
      ...INVALID,
      message: expect.stringContaining('contradicts itself') as string,
    });
    expect(() => writeAttestation(changed)).toThrow(contradicts);
    expect(() => readAttestation(canonicalJsonBytes({ ...statementOf(attestation), predicate: changed }))).toThrow(
      contradicts,
    );
  });

  test('that a question expired needs no signature', () => {
    const approval = { approval_id: APPROVED.approval_id, outcome: 'expired', prompt_sha256: 'e'.repeat(64) } as const;
    expect(readAttestation(writeAttestation({ ...REFUSED, approval })).approval).toEqual(approval);
  });
});

describe('a reader', () => {
  const bytes = (text: string) => new TextEncoder().encode(text);
  const text = new TextDecoder().decode(writeAttestation(EXECUTED));

  test.for([
    ['a space', text.replace(':', ': ')],
    ['a key twice', text.replace('{', '{"_type":"https://in-toto.io/Statement/v1",')],
    ['an escape', text.replace('in-toto', '\\u0069n-toto')],
    ['another number', text.replace('"seq":17', '"seq":17.0')],
    ['a byte order mark', `\uFEFF${text}`],
    ['nothing', ''],
    ['a depth without end', '['.repeat(100_000)],
  ] as const)('refuses %s', ([, spelling]) => {
    expect(() => readAttestation(bytes(spelling))).toThrow(expect.objectContaining(INVALID));
  });

  test('refuses bytes that are not UTF-8', () => {
    expect(() => readAttestation(new Uint8Array([0x22, 0xff, 0x22]))).toThrow(expect.objectContaining(INVALID));
  });

  test.for([
    ['another call', { name: `palyra:call:${ID}ZZ`, digest: { sha256: EXECUTED.execution_sha256 } }],
    ['another execution', { name: `palyra:call:${EXECUTED.call_id}`, digest: { sha256: 'f'.repeat(64) } }],
  ] as const)('refuses a subject that is %s', ([, subject]) => {
    const payload = canonicalJsonBytes({ ...statementOf(EXECUTED), subject: [subject] });
    expect(() => readAttestation(payload)).toThrow('An attestation is about another call.');
  });

  test.for([
    ['another type of statement', { _type: 'https://in-toto.io/Statement/v0.1' }],
    ['another predicate', { predicateType: 'https://slsa.dev/provenance/v1' }],
    ['no subject', { subject: [] }],
    ['two subjects', { subject: [1, 2] }],
    ['a field beside the predicate', { note: 'x' }],
  ] as const)('refuses %s', ([, fields]) => {
    const payload = canonicalJsonBytes({ ...statementOf(EXECUTED), ...fields });
    expect(() => readAttestation(payload)).toThrow(expect.objectContaining(INVALID));
  });
});

describe('a signed attestation', () => {
  const signer = createSigner();
  const envelope = signAttestation(EXECUTED, signer, nodeSha256);

  test('opens as what was signed, and its signature holds', async () => {
    const opened = openEnvelope(envelope);
    expect(attestationIn(opened)).toEqual(EXECUTED);
    expect(await isEnvelopeSignedBy(opened, signer.publicKey, nodeCrypto)).toBe(true);
  });

  test('in an envelope of another type is refused', () => {
    const other = signEnvelope('text/plain', writeAttestation(EXECUTED), { signer, sha256: nodeSha256 });
    expect(() => attestationIn(openEnvelope(other))).toThrow(expect.objectContaining(INVALID));
    expect(openEnvelope(envelope).payloadType).toBe(PAYLOAD_TYPE);
  });

  test('never verifies once a character of it is replaced, removed, inserted or doubled', async () => {
    const mutation = fc.record({
      at: fc.nat({ max: envelope.length - 1 }),
      act: fc.constantFrom('replace', 'remove', 'insert', 'double'),
      character: fc.constantFrom(...'{ } [ ] " , : \n \\ = + / a A z Z 0 5 9'.split(' '), ' '),
    });
    await fc.assert(
      fc.asyncProperty(mutation, async ({ at, act, character }) => {
        const kept = { replace: '', remove: '', insert: envelope.charAt(at), double: envelope.charAt(at).repeat(2) }[
          act
        ];
        const put = act === 'replace' || act === 'insert' ? character : '';
        const mutated = envelope.slice(0, at) + put + kept + envelope.slice(at + 1);
        fc.pre(mutated !== envelope);
        expect(await verifies(mutated)).toBe(false);
      }),
      { numRuns: 1000 },
    );
  });

  test('never verifies once its payload is another, whoever signs', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 255 }), fc.nat(), async (flip, place) => {
        const { payload, signatures } = openEnvelope(envelope);
        const changed = payload.map((byte, index) => (index === place % payload.length ? byte ^ flip : byte));
        const forged = { payloadType: PAYLOAD_TYPE, payload: changed, signatures };
        expect(await isEnvelopeSignedBy(forged, signer.publicKey, nodeCrypto)).toBe(false);
      }),
    );
  });

  async function verifies(candidate: string): Promise<boolean> {
    const opened = unlessInvalid(() => openEnvelope(candidate));
    const found = opened && unlessInvalid(() => attestationIn(opened));
    return found !== undefined && isEnvelopeSignedBy(openEnvelope(candidate), signer.publicKey, nodeCrypto);
  }
});

test('a reader never takes a statement with one thing changed for the same attestation', () => {
  const payload = writeAttestation(EXECUTED);
  fc.assert(
    fc.property(fc.nat({ max: payload.length - 1 }), fc.integer({ min: 1, max: 255 }), (at, flip) => {
      const changed = payload.map((byte, index) => (index === at ? byte ^ flip : byte));
      expect(unlessInvalid(() => readAttestation(changed))).not.toEqual(EXECUTED);
    }),
    { numRuns: 1000 },
  );
});

/** Any other error than the one that is promised goes through. */
function unlessInvalid<Result>(act: () => Result): Result | undefined {
  try {
    return act();
  } catch (error) {
    if (error instanceof JournalError && error.code === 'journal.invalid_envelope') return undefined;
    throw error;
  }
}

test('a payload that gets its anchor later is the one that has it from the beginning', () => {
  const { anchor: _anchor, ...unanchored } = EXECUTED;
  const behind = writeBehindAnchor(unanchored);
  fc.assert(
    fc.property(fc.maxSafeNat(), fc.uint8Array({ minLength: 32, maxLength: 32 }), (seq, bytes) => {
      const anchor = { kind: 'intent', seq, hash: Buffer.from(bytes).toString('hex') } as const;
      expect(finishPayload(behind, anchor)).toEqual(writeAttestation({ ...unanchored, anchor }));
    }),
  );
  expect(() => writeBehindAnchor({ ...unanchored, egress_left_out: -1 })).toThrow(JournalError);
  expect(() => writeBehindAnchor({ ...unanchored, sandbox_enforcement: 'not_executed' })).toThrow('contradicts itself');
});
