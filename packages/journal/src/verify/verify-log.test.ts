import { generateKeyPairSync, sign } from 'node:crypto';
import { canonicalJson, type JsonValue } from '@palyra/primitives/browser';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bytesOfHex, hexOf } from '../format/bytes.ts';
import { checkpointText, cosign } from '../format/checkpoint.ts';
import type { Signer } from '../format/crypto.ts';
import { entryHash } from '../format/entry.ts';
import { type SignedKeyStatement, signKeyStatement } from '../format/key-statement.ts';
import { addLeaf, EMPTY_FRONTIER, type Frontier, rootOf } from '../format/merkle-tree.ts';
import { parseNote, signNote } from '../format/signed-note.ts';
import { nodeCrypto as crypto, nodeSha256 as sha256 } from '../node-crypto.ts';
import { beginWalk } from './begin-walk.ts';
import { keysDigest } from './keys-digest.ts';
import type { LogRecord, LogSource, SourceBody } from './log-source.ts';
import type { LogReport, VerifyPins } from './report.ts';
import { verifyLog } from './verify-log.ts';
import { createWalkParts } from './walk-parts.ts';

const ORIGIN = 'palyra/test';
const ID = '01ARZ3NDEKTSV4RRFFQ69G5FAV';
const NO_PINS: VerifyPins = { witnesses: [], checkpoints: [] };

function newSigner(): Signer {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  return {
    publicKey: new Uint8Array(spki.subarray(12)),
    sign: (message) => new Uint8Array(sign(null, message, privateKey)),
  };
}

const ROOT = newSigner();
const CHECKPOINT = newSigner();
const ATTESTATION = newSigner();

interface Draft {
  readonly kind: string;
  readonly data: Readonly<Record<string, JsonValue>>;
  readonly time?: number;
}

interface WrittenLog {
  readonly records: LogRecord[];
  readonly hashes: readonly Uint8Array[];
  readonly frontiers: readonly Frontier[];
  readonly statements: readonly SignedKeyStatement[];
  append(draft: Draft, signer?: Signer): void;
  state(change: 'activated' | 'retired', role: 'checkpoint' | 'attestation', key: Signer, position: number): void;
  root(size: number): Uint8Array;
  note(size: number, signer?: Signer): string;
  source(base?: number, change?: Partial<LogSource>): LogSource;
}

/** A log in memory, signed after every entry from the third on. */
function createWrittenLog(): WrittenLog {
  const records: LogRecord[] = [];
  const frontiers: Frontier[] = [EMPTY_FRONTIER];
  const hashes: Uint8Array[] = [];
  const statements: SignedKeyStatement[] = [];
  const root = (size: number) => rootOf(frontiers[size] as Frontier, sha256);
  const note = (size: number, signer = CHECKPOINT) =>
    signNote(checkpointText({ origin: ORIGIN, size, root: root(size) }), ORIGIN, { signer, sha256 });
  const append = ({ kind, data, time = 1000 }: Draft, signer = CHECKPOINT) => {
    const seq = hashes.length;
    const previous = hashes.at(-1) ?? new Uint8Array(32);
    const entry = { seq, time, actor: 'daemon:palyrad', kind, version: 1, data: canonicalJson(data) };
    const hash = entryHash({ ...entry, origin: ORIGIN, previous }, sha256);
    hashes.push(hash);
    frontiers.push(addLeaf(frontiers.at(-1) as Frontier, hash, { sha256 }));
    records.push({ kind: 'entry', entry, hash });
    if (seq >= 2) records.push({ kind: 'checkpoint', size: seq + 1, note: note(seq + 1, signer) });
  };
  return {
    records,
    hashes,
    frontiers,
    statements,
    append,
    root,
    note,
    state(change, role, key, position) {
      const statement = { origin: ORIGIN, change, role, public_key: hexOf(key.publicKey), position };
      const signed = signKeyStatement(statement, ROOT);
      const { origin: _, ...data } = signed;
      statements.push(signed);
      append({ kind: 'key.changed', data });
    },
    source: (base = 0, change = {}) => ({
      origin: ORIGIN,
      rootKey: hexOf(ROOT.publicKey),
      base: { frontier: frontiers[base] as Frontier, previous: hashes[base - 1] ?? new Uint8Array(32) },
      earlierKeys: base === 0 ? [] : statements,
      async *records(from) {
        yield records.filter((record) => positionOf(record) >= from);
      },
      earlierRoot: async (size) => root(size),
      ...change,
    }),
  };
}

function positionOf(record: LogRecord): number {
  return record.kind === 'entry' ? record.entry.seq : record.size;
}

const ENDED: Draft = {
  kind: 'run.ended',
  data: { run_id: ID, session_id: ID, principal: 'user:ada', outcome: 'completed', calls: 1 },
};

function logOf(entries: number): WrittenLog {
  const log = createWrittenLog();
  log.append({ kind: 'log.created', data: { root_key: hexOf(ROOT.publicKey), reason: 'created' } });
  log.state('activated', 'checkpoint', CHECKPOINT, 0);
  log.state('activated', 'attestation', ATTESTATION, 0);
  for (let at = 3; at < entries; at += 1) log.append(ENDED);
  return log;
}

const verify = (source: LogSource, pins: Partial<VerifyPins> = {}) =>
  verifyLog(source, { crypto, pins: { ...NO_PINS, ...pins } });

function found(report: LogReport) {
  return report.kind === 'sound' ? 'sound' : { code: report.finding.code, seq: report.finding.seq };
}

test('a log is reported with what it is and what was established', async () => {
  const log = logOf(6);
  expect(await verify(log.source())).toEqual({
    kind: 'sound',
    origin: ORIGIN,
    rootKey: hexOf(ROOT.publicKey),
    size: 6,
    root: hexOf(log.root(6)),
    established: { level: 'self_consistent' },
    counts: { entries: 6, checkpoints: 4, attestations: 0, bodies: { checked: 0, erased: 0, leftOut: 0 } },
    state: {
      format: 'palyra.verified/1',
      origin: ORIGIN,
      rootKey: hexOf(ROOT.publicKey),
      size: 6,
      previous: hexOf(log.hashes[5] as Uint8Array),
      frontier: (log.frontiers[6] as Frontier).roots.map(hexOf),
      keys: log.statements,
    },
    remarks: [],
  });
  expect(await verify(log.source(), { rootKey: ROOT.publicKey })).toMatchObject({ established: { level: 'signed' } });
});

test('whatever record is changed, it is found, and no later than at the next checkpoint', async () => {
  const log = logOf(12);
  const bytes = fc.uint8Array({ minLength: 32, maxLength: 32 });
  const change = fc.oneof(
    fc.record({ time: fc.integer({ min: 1001 }) }),
    fc.record({ actor: fc.constantFrom('user:eve', 'x', '') }),
    fc.record({ kind: fc.constantFrom('run.started', 'proposal', '') }),
    fc.record({ version: fc.integer({ min: 2 }) }),
    fc.record({ data: fc.json() }),
    fc.record({ seq: fc.integer({ min: -1, max: 40 }) }),
    fc.record({ hash: bytes }),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: 11 }),
      change,
      async (at, { hash, ...fields }: Record<string, unknown>) => {
        const changed = log.records.map((record): LogRecord => {
          if (record.kind !== 'entry' || record.entry.seq !== at) return record;
          return { ...record, hash: (hash ?? record.hash) as Uint8Array, entry: { ...record.entry, ...fields } };
        });
        if (fields['seq'] === at) return;
        const report = await verify({ ...log.source(), records: pagesOf(changed) });
        expect(report).toMatchObject({ kind: 'broken' });
        const seq = report.kind === 'broken' ? (report.finding.seq ?? -1) : -1;
        expect(seq === at || (fields['seq'] !== undefined && seq < at)).toBe(true);
      },
    ),
    { numRuns: 200 },
  );
});

function pagesOf(records: readonly LogRecord[]): LogSource['records'] {
  return async function* (from) {
    yield records.filter((record) => positionOf(record) >= from || from === 0);
  };
}

test.each([
  ['no entries', [] as number[], { code: 'entry_missing', seq: 0 }],
  ['a beginning that is none', [3], { code: 'entry_missing', seq: 0 }],
])('a log with %s is none', async (_what, seqs, finding) => {
  const log = logOf(6);
  const records = log.records.filter((record) => record.kind === 'entry' && seqs.includes(record.entry.seq));
  expect(found(await verify({ ...log.source(), records: pagesOf(records) }))).toEqual(finding);
});

test('a log that begins twice is none', async () => {
  const log = logOf(4);
  log.append({ kind: 'log.created', data: { root_key: hexOf(ROOT.publicKey), reason: 'created' } });
  expect(found(await verify(log.source()))).toEqual({ code: 'entry_malformed', seq: 4 });
});

test('a clock that went back is remarked upon', async () => {
  const log = logOf(4);
  log.append({ ...ENDED, time: 999 });
  expect(await verify(log.source())).toMatchObject({ remarks: ['The clock went back 1 times, first at entry 4.'] });
});

test('of several things that are wrong, the first is named, though its signature is checked late', async () => {
  const log = logOf(8);
  const slow = { ...crypto, verifyEd25519: () => new Promise<boolean>((resolve) => setImmediate(resolve, false)) };
  log.records.splice(log.records.length - 3, 1);
  const report = await verifyLog(log.source(), { crypto: slow, pins: NO_PINS });
  expect(found(report)).toEqual({ code: 'key_uncertified', seq: 1 });
});

test('what could not be looked at is thrown, not reported', async () => {
  const log = logOf(4);
  log.append({ kind: 'proposal', data: { ...CALL, input: 'a'.repeat(64) } });
  const body = () => Promise.reject(new Error('The disk is away.'));
  await expect(verify({ ...log.source(), body })).rejects.toThrow('The disk is away.');
  expect(await verify(log.source())).toMatchObject({ counts: { bodies: { leftOut: 1 } } });
});

const CALL = { run_id: ID, session_id: ID, call_id: ID, principal: 'user:ada', tool: 'process.run' };

test('calls that were begun or refused, and have no attestation, are remarked upon', async () => {
  const log = logOf(4);
  log.append({ kind: 'intent', data: { ...CALL, executor: 'box', policy_snapshot: 'a'.repeat(64) } });
  expect(await verify(log.source())).toMatchObject({
    remarks: ['1 calls that were begun or refused are not attested (yet).'],
  });
});

describe('a body', () => {
  const COMMITMENT = 'a'.repeat(64);
  const verifyWith = async (body: SourceBody) => {
    const log = logOf(4);
    log.append({ kind: 'proposal', data: { ...CALL, input: COMMITMENT } });
    return verify({ ...log.source(), body: async () => body });
  };

  test('that is said to be erased by an entry that is not here counts as left out', async () => {
    expect(await verifyWith({ kind: 'said to be erased' })).toMatchObject({
      counts: { bodies: { erased: 0, leftOut: 1 } },
      remarks: ['1 bodies are said to be erased by entries that were not looked at here.'],
    });
  });

  test('that a later log erased is erased', async () => {
    expect(await verifyWith({ kind: 'erased in a later log' })).toMatchObject({
      counts: { bodies: { erased: 1, leftOut: 0 } },
      remarks: [],
    });
  });
});

describe('a cosignature in the log', () => {
  const WITNESS = newSigner();
  const witnesses = [{ name: 'witness.example', type: 4 as const, publicKey: WITNESS.publicKey }];

  function cosignedAt(log: WrittenLog, size: number, root = log.root(size)): void {
    const text = checkpointText({ origin: ORIGIN, size, root });
    const line = cosign({ text, signatures: [] }, { name: 'witness.example', time: 7, signer: WITNESS, sha256 });
    const [signature] = parseNote(`${text}\n${line}`).signatures;
    log.append({
      kind: 'checkpoint.cosigned',
      data: {
        size,
        root: hexOf(root),
        witness: 'witness.example',
        witness_key: hexOf(WITNESS.publicKey),
        time: 7,
        signature: hexOf(signature?.signature.slice(8) ?? new Uint8Array()),
      },
    });
  }

  const pins = { rootKey: ROOT.publicKey, witnesses };
  const SEEN = { level: 'witnessed', size: 5, time: 7, witness: 'witness.example' };

  test('about a size whose root is not at hand is remarked upon, not passed over', async () => {
    const log = logOf(6);
    cosignedAt(log, 2);
    expect(await verify(log.source(), pins)).toMatchObject({
      established: { level: 'signed' },
      remarks: ['1 cosignatures in the log are about sizes whose root was not at hand.'],
    });
  });

  test('counts however long ago it was, where the source says which sizes are cosigned', async () => {
    const source = logOf(6).source(0, { cosignedSizes: () => Promise.reject(new Error('It was asked.')) });
    await expect(verify(source, pins)).rejects.toThrow('It was asked.');
    expect(found(await verify(source))).toBe('sound');

    const options = { crypto, pins: { ...NO_PINS, ...pins } };
    const beginning = await beginWalk(source, options);
    if (beginning.kind === 'broken') throw new Error(beginning.finding.why);
    const { roots } = createWalkParts(source, { ...options, beginning, cosignedSizes: [5] });
    for (let size = 1; size <= 20_010; size += 1) roots.remember(size, new Uint8Array([size % 256]));
    expect([4, 5, 6].map((size) => roots.at(size))).toEqual([undefined, new Uint8Array([5]), undefined]);
  });

  test('is still known to the verification that goes on from this one, while the witness is pinned', async () => {
    const log = logOf(6);
    cosignedAt(log, 5);
    const before = await verify(log.source(), pins);
    expect(before).toMatchObject({ established: SEEN });
    if (before.kind === 'broken') throw new Error(before.finding.why);
    const start = JSON.parse(JSON.stringify(before.state));
    log.append(ENDED);
    const after = await verifyLog(log.source(), { crypto, pins: { ...NO_PINS, ...pins }, start });
    expect(after).toMatchObject({ established: SEEN, state: { witnessed: start.witnessed } });
    const other = [{ name: 'witness.example', type: 4 as const, publicKey: newSigner().publicKey }];
    const unpinned = await verifyLog(log.source(), { crypto, pins: { ...NO_PINS, ...pins, witnesses: other }, start });
    expect(unpinned).toMatchObject({ established: { level: 'signed' }, state: { witnessed: start.witnessed } });
    for (const witnessed of [7, [null], [{ ...start.witnessed[0], size: 99 }]]) {
      const damaged = await verifyLog(log.source(), {
        crypto,
        pins: { ...NO_PINS, ...pins },
        start: { ...start, witnessed },
      });
      expect(damaged).toMatchObject({ established: { level: 'signed' } });
    }
  });

  test('about what came before the beginning is held against it', async () => {
    const log = logOf(8);
    const keys = keysDigest(log.statements, sha256);
    log.append({ kind: 'segment.pruned', data: { next: 6, root: hexOf(log.root(6)), keys } });
    cosignedAt(log, 5);
    expect(await verify(log.source(6), pins)).toMatchObject({ established: SEEN });
    cosignedAt(log, 4, new Uint8Array(32));
    expect(found(await verify(log.source(6), pins))).toEqual({ code: 'forked', seq: undefined });
  });
});

describe('a key', () => {
  test('that was retired for a size before its last signature takes that signature back', async () => {
    const log = logOf(6);
    const next = newSigner();
    log.state('activated', 'checkpoint', next, 6);
    const retired = {
      change: 'retired',
      role: 'checkpoint',
      public_key: hexOf(CHECKPOINT.publicKey),
      position: 5,
    } as const;
    const { origin: _, ...data } = signKeyStatement({ origin: ORIGIN, ...retired }, ROOT);
    log.append({ kind: 'key.changed', data }, next);
    expect(found(await verify(log.source()))).toEqual({ code: 'checkpoint_unsigned', seq: 6 });
  });

  test('does not count before the entry that says so', async () => {
    const log = logOf(5);
    const next = newSigner();
    log.append(ENDED, next);
    log.state('activated', 'checkpoint', next, 0);
    expect(found(await verify(log.source()))).toEqual({ code: 'checkpoint_unsigned', seq: 5 });
  });
});

describe('a pruned log', () => {
  function pruned(change: Partial<Record<'root' | 'keys' | 'next', string | number>> = {}): WrittenLog {
    const log = logOf(8);
    const keys = keysDigest(log.statements, sha256);
    log.append({ kind: 'segment.pruned', data: { next: 6, root: hexOf(log.root(6)), keys, ...change } });
    return log;
  }

  test('is verified from where it begins, against what was signed', async () => {
    const log = pruned();
    expect(await verify(log.source(6), { rootKey: ROOT.publicKey })).toMatchObject({
      kind: 'sound',
      size: 9,
      root: hexOf(log.root(9)),
      established: { level: 'signed' },
      counts: { entries: 3, checkpoints: 4 },
      remarks: ['Entries before 6 are not here; only their hashes are known.'],
    });
    expect(found(await verify(log.source()))).toBe('sound');
  });

  test.each([
    ['another root', { root: 'a'.repeat(64) }],
    ['other keys', { keys: 'a'.repeat(64) }],
    ['what was to come', { next: 9 }],
  ])('whose entry is about %s is found out', async (_what, change) => {
    expect(found(await verify(pruned(change).source(6)))).toEqual({ code: 'prune_wrong', seq: 8 });
    expect(found(await verify(pruned(change).source()))).toEqual({ code: 'prune_wrong', seq: 8 });
  });

  test('that leaves out a statement about a key is found out', async () => {
    const log = pruned();
    const earlierKeys = log.statements.slice(0, 1);
    expect(found(await verify(log.source(6, { earlierKeys })))).toEqual({ code: 'prune_wrong', seq: 8 });
    const [first] = log.statements as [SignedKeyStatement];
    const forged = [{ ...first, public_key: hexOf(newSigner().publicKey) }];
    expect(found(await verify(log.source(6, { earlierKeys: forged })))).toEqual({
      code: 'key_uncertified',
      seq: undefined,
    });
  });

  test('must say that it was pruned', async () => {
    expect(found(await verify(logOf(9).source(6)))).toEqual({ code: 'prune_wrong', seq: 6 });
  });

  test('is still held against older checkpoints', async () => {
    const log = pruned();
    expect(found(await verify(log.source(6), { checkpoints: [log.note(4)] }))).toBe('sound');
    const other = logOf(3);
    other.append({ ...ENDED, time: 1 });
    expect(found(await verify(log.source(6), { checkpoints: [other.note(4)] }))).toEqual({
      code: 'forked',
      seq: undefined,
    });
  });
});

test('a segment is sealed with the root that the log had', async () => {
  const log = logOf(6);
  log.append({ kind: 'segment.sealed', data: { first: 0, next: 5, root: hexOf(log.root(5)) } });
  expect(found(await verify(log.source()))).toBe('sound');
  log.append({ kind: 'segment.sealed', data: { first: 5, next: 7, root: hexOf(log.root(5)) } });
  expect(found(await verify(log.source()))).toEqual({ code: 'prune_wrong', seq: 7 });
});

describe('a verification that goes on from an earlier one', () => {
  async function stateAfter(log: WrittenLog) {
    const report = await verify(log.source());
    if (report.kind === 'broken') throw new Error(report.finding.why);
    return report.state;
  }

  test('looks at what is new only', async () => {
    const log = logOf(6);
    const start = await stateAfter(log);
    for (let at = 0; at < 3; at += 1) log.append(ENDED);
    const report = await verifyLog(log.source(), { crypto, pins: NO_PINS, start });
    expect(report).toMatchObject({ kind: 'sound', size: 9, counts: { entries: 3, checkpoints: 4 } });
    expect(report).toMatchObject({ state: await stateAfter(log) });
  });

  test.each([
    ['is shorter now', () => logOf(5), { code: 'truncated', seq: 6 }],
    ['has another root', () => otherLog(6), { code: 'forked', seq: undefined }],
    ['went on from another past', () => otherLog(9), { code: 'forked', seq: undefined }],
  ])('finds that the log %s', async (_what, make, finding) => {
    const start = await stateAfter(logOf(6));
    expect(found(await verifyLog(make().source(), { crypto, pins: NO_PINS, start }))).toEqual(finding);
  });

  test('finds that the log was another before it was pruned', async () => {
    const start = await stateAfter(logOf(5));
    const same = await verifyLog(prunedAt6(logOf(8)).source(6), { crypto, pins: NO_PINS, start });
    expect(found(same)).toBe('sound');
    const other = await verifyLog(prunedAt6(otherLog(8)).source(6), { crypto, pins: NO_PINS, start });
    expect(found(other)).toEqual({ code: 'forked', seq: undefined });
  });

  test.each([
    ['another origin', { origin: 'palyra/other' }, 'forked'],
    ['another root key', { rootKey: 'a'.repeat(64) }, 'root_differs'],
    ['no hash', { previous: 'x' }, 'forked'],
    ['half a tree', { frontier: [] }, 'forked'],
  ])('does not go on from a state of %s', async (_what, change, code) => {
    const start = { ...(await stateAfter(logOf(6))), ...change };
    expect(await verifyLog(logOf(6).source(), { crypto, pins: NO_PINS, start })).toMatchObject({ finding: { code } });
  });

  function otherLog(entries: number): WrittenLog {
    const log = logOf(3);
    log.append({ ...ENDED, time: 1 });
    for (let at = 4; at < entries; at += 1) log.append(ENDED);
    return log;
  }

  function prunedAt6(log: WrittenLog): WrittenLog {
    const keys = keysDigest(log.statements, sha256);
    log.append({ kind: 'segment.pruned', data: { next: 6, root: hexOf(log.root(6)), keys } });
    return log;
  }
});

test('a key statement list has a digest that any change of it changes', () => {
  const { statements } = logOf(3);
  const digest = keysDigest(statements, sha256);
  expect(bytesOfHex(digest)?.length).toBe(32);
  for (const other of [
    statements.slice(1),
    statements.toReversed(),
    [{ ...statements[0], position: 1 }, statements[1]],
  ]) {
    expect(keysDigest(other as SignedKeyStatement[], sha256)).not.toBe(digest);
  }
});
