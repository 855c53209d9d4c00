import { bytesOfHex, equalBytes } from '../format/bytes.ts';
import { fieldsOfType } from '../format/check-data.ts';
import { commitmentOf, SALT_BYTES } from '../format/commitment.ts';
import type { Sha256 } from '../format/crypto.ts';
import type { TypedEntry } from '../format/entry.ts';
import { ENTRY_KINDS, type EntryKind } from '../format/entry-kinds.ts';
import type { Erasures } from './check-erasures.ts';
import type { LogSource, SourceBody } from './log-source.ts';
import type { Finding, FindingCode } from './report.ts';

/** A body that was committed to, or why there is none to look at. */
export type CheckedBody =
  | { readonly kind: 'sound'; readonly salt: Uint8Array; readonly bytes: Uint8Array }
  | { readonly kind: 'absent' }
  | { readonly kind: 'broken'; readonly finding: Finding };

export interface BodyChecks {
  readonly counts: { checked: number; erased: number; leftOut: number };
  /** A body that entry `seq` commits to. */
  read(commitment: string, seq: number): Promise<CheckedBody>;
}

interface BodyCheckDeps {
  readonly source: Pick<LogSource, 'body'>;
  readonly erasures: Pick<Erasures, 'claim'>;
  readonly sha256: Sha256;
}

export function createBodyChecks({ source, erasures, sha256 }: BodyCheckDeps): BodyChecks {
  const counts = { checked: 0, erased: 0, leftOut: 0 };
  const look = (found: SourceBody, commitment: string, seq: number): CheckedBody => {
    switch (found.kind) {
      case 'present':
        counts.checked += 1;
        // SECURITY: T-31 — the chain holds only the commitment, so this is what keeps a body from being exchanged.
        return isCommitted(found, commitment, sha256)
          ? { ...found, kind: 'sound' }
          : broken('body_swapped', seq, 'is not the one that was committed to');
      case 'erased':
        counts.erased += 1;
        erasures.claim(commitment, { seq, erasedBy: found.erasedBy });
        return { kind: 'absent' };
      case 'left out':
        counts.leftOut += 1;
        return { kind: 'absent' };
      case 'missing':
        return broken('body_missing', seq, 'is not there, and nothing says that it was erased');
      case 'unreadable':
        return broken('body_swapped', seq, `is not the one that was committed to: ${found.why}`);
    }
  };
  return {
    counts,
    async read(commitment, seq) {
      return look((await source.body?.(commitment)) ?? { kind: 'left out' }, commitment, seq);
    },
  };
}

function isCommitted(
  { salt, bytes }: { readonly salt: Uint8Array; readonly bytes: Uint8Array },
  commitment: string,
  sha256: Sha256,
): boolean {
  if (salt.length !== SALT_BYTES) return false;
  return equalBytes(commitmentOf(salt, bytes, sha256), bytesOfHex(commitment) ?? new Uint8Array());
}

function broken(code: FindingCode, seq: number, what: string): CheckedBody {
  return { kind: 'broken', finding: { code, seq, why: `A body of entry ${seq} ${what}.` } };
}

const FIELDS: ReadonlyMap<string, { readonly body: readonly string[]; readonly snapshot: readonly string[] }> = new Map(
  (Object.keys(ENTRY_KINDS) as EntryKind[]).map((kind) => [
    kind,
    { body: fieldsOfType(kind, 'body'), snapshot: fieldsOfType(kind, 'snapshot') },
  ]),
);

/** The commitments, or the digests of snapshots, that an entry holds. */
export function namedIn({ kind, data }: TypedEntry, type: 'body' | 'snapshot'): readonly string[] {
  const names = FIELDS.get(kind)?.[type] ?? [];
  if (names.length === 0) return names;
  const values = data as Readonly<Record<string, unknown>>;
  return names.map((name) => values[name]).filter((value) => typeof value === 'string');
}
