import { hexOf, utf8 } from '../format/bytes.ts';
import type { Sha256 } from '../format/crypto.ts';
import type { LogSource } from './log-source.ts';
import type { Checked } from './pending-checks.ts';

const REMEMBERED = 10_000;

/** Whether the snapshots that entries name are there and have their digests. Each is looked at about once. */
export function createSnapshotChecks(
  source: Pick<LogSource, 'snapshot'>,
  sha256: Sha256,
): (digest: string, seq: number) => Checked {
  const checked = new Set<string>();
  return (digest, seq) => {
    if (source.snapshot === undefined || checked.has(digest)) return undefined;
    if (checked.size >= REMEMBERED) checked.clear();
    checked.add(digest);
    return source.snapshot(digest).then((text) => {
      if (text !== undefined && hexOf(sha256(utf8(text))) === digest) return undefined;
      const what = text === undefined ? 'is not there' : 'is another one than its digest says';
      return { code: 'snapshot_wrong', seq, why: `The policy snapshot ${digest} of entry ${seq} ${what}.` };
    });
  };
}
