/**
 * T-39: a stranger's export brings keys by the thousand, with a checkpoint after each, so that whoever verifies it is busy for
 * hours and runs out of memory.
 */
import { generateKeyPairSync, sign } from 'node:crypto';
import { expect, test } from 'vitest';
import { hexOf } from '../../packages/journal/src/format/bytes.ts';
import { checkpointText } from '../../packages/journal/src/format/checkpoint.ts';
import type { Signer } from '../../packages/journal/src/format/crypto.ts';
import { entryHash } from '../../packages/journal/src/format/entry.ts';
import { type SignedKeyStatement, signKeyStatement } from '../../packages/journal/src/format/key-statement.ts';
import { addLeaf, EMPTY_FRONTIER, rootOf } from '../../packages/journal/src/format/merkle-tree.ts';
import { formatVkey, signNote } from '../../packages/journal/src/format/signed-note.ts';
import { nodeCrypto, nodeSha256 as sha256 } from '../../packages/journal/src/node-crypto.ts';
import { EXPORT_FORMAT, type ExportLine, writeExportLine } from '../../packages/journal/src/verify/export-format.ts';
import { keysDigest } from '../../packages/journal/src/verify/keys-digest.ts';
import { verifyExport } from '../../packages/journal/src/verify/verify-export.ts';

const ORIGIN = 'palyra/hostile';
const NO_HASH = '0'.repeat(64);

function makeSigner(): Signer {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  return {
    publicKey: new Uint8Array(publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)),
    sign: (message) => new Uint8Array(sign(null, message, privateKey)),
  };
}

/** A log that says nothing but which keys it has. */
function createHostileLog(root: Signer) {
  const lines: ExportLine[] = [];
  let frontier = EMPTY_FRONTIER;
  let previous: Uint8Array = new Uint8Array(32);
  const append = (kind: string, data: Readonly<Record<string, unknown>>) => {
    const sorted = Object.fromEntries(Object.entries(data).toSorted(([one], [other]) => (one < other ? -1 : 1)));
    const entry = { seq: frontier.size, time: 1, actor: 'daemon:x', kind, version: 1, data: JSON.stringify(sorted) };
    previous = entryHash({ ...entry, origin: ORIGIN, previous }, sha256);
    frontier = addLeaf(frontier, previous, { sha256 });
    lines.push({ type: 'entry', ...entry, hash: hexOf(previous) });
  };
  append('log.created', { root_key: hexOf(root.publicKey), reason: 'created' });
  return {
    activate(publicKey: Uint8Array): SignedKeyStatement {
      const public_key = hexOf(publicKey);
      const statement = signKeyStatement(
        { origin: ORIGIN, change: 'activated', role: 'checkpoint', public_key, position: 0 },
        root,
      );
      const { origin: _, ...said } = statement;
      append('key.changed', said);
      return statement;
    },
    prune(next: number, keys: string) {
      append('segment.pruned', { next, root: NO_HASH, keys });
    },
    checkpoint(signer: Signer) {
      const { size } = frontier;
      const text = checkpointText({ origin: ORIGIN, size, root: rootOf(frontier, sha256) });
      lines.push({ type: 'checkpoint', size, note: signNote(text, ORIGIN, { signer, sha256 }) });
    },
    text() {
      const { size: end } = frontier;
      const root_key = formatVkey({ name: 'palyra-root', type: 1, publicKey: root.publicKey }, sha256);
      const base = { size: 0, previous: NO_HASH, frontier: [] };
      const header = {
        format: EXPORT_FORMAT,
        kind: 'range',
        origin: ORIGIN,
        root_key,
        bodies: false,
        keys: [],
      } as const;
      const all: ExportLine[] = [
        { type: 'header', ...header, base, end },
        ...lines,
        { type: 'end', size: end, entries: end },
      ];
      return all.map(writeExportLine).join('');
    },
  };
}

function unusedKey(number: number): Uint8Array {
  const key = new Uint8Array(32);
  new DataView(key.buffer).setUint32(0, number + 1);
  return key;
}

const verify = (text: string) => verifyExport(text, { crypto: nodeCrypto, pins: { witnesses: [], checkpoints: [] } });

const KEYS = 4000;

test(`${KEYS} keys, and as many checkpoints that the last of them signed, take seconds`, {
  timeout: 120_000,
}, async () => {
  const [root, first, last] = [makeSigner(), makeSigner(), makeSigner()];
  const log = createHostileLog(root);
  log.activate(first.publicKey);
  for (let at = 0; at < KEYS; at += 1) {
    log.activate(unusedKey(at));
    log.checkpoint(first);
  }
  log.activate(last.publicKey);
  for (let at = 0; at < KEYS; at += 1) {
    log.activate(unusedKey(KEYS + at));
    log.checkpoint(last);
  }
  const text = log.text();
  // Of processors, not of the wall: others may work on this machine.
  const before = process.cpuUsage();
  expect(await verify(text)).toMatchObject({ kind: 'sound', counts: { checkpoints: 2 * KEYS } });
  const { user } = process.cpuUsage(before);
  expect(user / 1e6).toBeLessThan(15);
});

test('what is said of them over and over is worked out once', { timeout: 120_000 }, async () => {
  const [root, signer] = [makeSigner(), makeSigner()];
  const log = createHostileLog(root);
  const statements = [log.activate(signer.publicKey)];
  for (let at = 0; at < KEYS; at += 1) statements.push(log.activate(unusedKey(at)));
  const digest = keysDigest(statements, sha256);
  for (let at = 0; at < KEYS; at += 1) log.prune(1 + statements.length, digest);
  log.checkpoint(signer);
  const text = log.text();
  const before = process.cpuUsage();
  expect(await verify(text)).toMatchObject({ kind: 'sound', counts: { checkpoints: 1 } });
  const { user } = process.cpuUsage(before);
  expect(user / 1e6).toBeLessThan(10);
});

test('more key statements than a witness reads are not followed', { timeout: 120_000 }, async () => {
  const root = makeSigner();
  const log = createHostileLog(root);
  for (let at = 0; at < 16_385; at += 1) log.activate(unusedKey(at));
  await expect(verify(log.text())).rejects.toMatchObject({ code: 'journal.verification_limit' });
});
