import { equalBytes } from '../format/bytes.ts';
import type { Sha256 } from '../format/crypto.ts';
import { entryHash, readEntry, type StoredEntry, type TypedEntry } from '../format/entry.ts';
import { provesInclusion } from '../format/merkle-proof.ts';
import { JournalError } from '../journal-error.ts';
import { type Checked, fails, type SignedHead } from './signed-head.ts';
import { bytesOf, type ProvenEntry } from './written-log.ts';

/** Whether the entry is one that Palyra writes, has its hash, and is under the checkpoint at its place. */
export function checkProvenEntry(written: ProvenEntry, head: SignedHead, sha256: Sha256): Checked<TypedEntry> {
  const { seq, time, actor, kind, version, data } = written;
  const entry: StoredEntry = {
    origin: head.origin,
    seq,
    time,
    actor,
    kind,
    version,
    data,
    previous: bytesOf(written.previous),
  };
  const leaf = bytesOf(written.hash);
  try {
    // SECURITY: T-31 — the hash is computed from the fields, never taken from the file.
    if (!equalBytes(entryHash(entry, sha256), leaf)) {
      return fails('entry_edited', `Entry ${seq} does not have the hash that the file gives.`, seq);
    }
    const typed = readEntry(entry);
    const proof = written.proof.map(bytesOf);
    if (provesInclusion({ index: seq, size: head.size, leaf, root: head.root, proof }, sha256)) {
      return { kind: 'holds', value: typed };
    }
    return fails('checkpoint_wrong', `Entry ${seq} is not under the checkpoint of size ${head.size}.`, seq);
  } catch (thrown) {
    if (!(thrown instanceof JournalError)) throw thrown;
    return fails('entry_malformed', `Entry ${seq}: ${thrown.message}`, seq);
  }
}
