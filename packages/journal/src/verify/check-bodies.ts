import { bytesOfHex, equalBytes } from '../format/bytes.ts';
import { fieldsOfType } from '../format/check-data.ts';
import { commitmentOf, SALT_BYTES } from '../format/commitment.ts';
import type { Sha256 } from '../format/crypto.ts';
import type { TypedEntry } from '../format/entry.ts';
import { ENTRY_KINDS, type EntryKind } from '../format/entry-kinds.ts';
import { type Erasures, typed } from './check-erasures.ts';
import { entriesBetween } from './find-records.ts';
import type { LogSource, SourceBody } from './log-source.ts';
import type { Finding, FindingCode } from './report.ts';

/** A body that was committed to, or why there is none to look at. */
export type CheckedBody =
  | { readonly kind: 'sound'; readonly salt: Uint8Array; readonly bytes: Uint8Array }
  | { readonly kind: 'absent' }
  | { readonly kind: 'broken'; readonly finding: Finding };

export interface BodyChecks {
  readonly counts: { readonly checked: number; readonly erased: number; readonly leftOut: number };
  /** A body that entry `seq` commits to. */
  read(named: NamedBody, seq: number): Promise<CheckedBody>;
  /** Whether a body is gone that entry `seq` says was erased. */
  gone(commitment: string, seq: number): Promise<Finding | undefined>;
  remarks(): readonly string[];
}

export interface NamedBody {
  readonly commitment: string;
  /** How many bytes the entry says there were; `uncut`: it says that all are there. Absent: it does not say. */
  readonly total?: number | 'uncut';
}

interface BodyCheckDeps {
  readonly source: Pick<LogSource, 'body' | 'records'>;
  readonly erasures: Pick<Erasures, 'claim'>;
  readonly sha256: Sha256;
}

export function createBodyChecks({ source, erasures, sha256 }: BodyCheckDeps): BodyChecks {
  const counts = { checked: 0, erased: 0, leftOut: 0 };
  let unproven = 0;
  const look = (found: SourceBody, { commitment, total }: NamedBody, seq: number): CheckedBody => {
    switch (found.kind) {
      case 'present':
        counts.checked += 1;
        // SECURITY: T-31 — the chain holds only the commitment, so this is what keeps a body from being exchanged.
        if (!isCommitted(found, commitment, sha256)) {
          return broken('body_swapped', seq, 'is not the one that was committed to');
        }
        return hasOtherTotal(found, total)
          ? broken('index_edited', seq, `is kept as one of ${found.totalBytes} bytes, which is not what the entry says`)
          : { kind: 'sound', salt: found.salt, bytes: found.bytes };
      case 'erased':
        counts.erased += 1;
        erasures.claim(commitment, { seq, erasedBy: found.erasedBy });
        return { kind: 'absent' };
      case 'erased in a later log':
        counts.erased += 1;
        return { kind: 'absent' };
      case 'said to be erased':
        counts.leftOut += 1;
        unproven += 1;
        return { kind: 'absent' };
      case 'left out':
        counts.leftOut += 1;
        return { kind: 'absent' };
      case 'missing':
        return broken('body_missing', seq, 'is not there, and nothing says that it was erased');
      case 'unreadable':
        return broken('body_swapped', seq, `is not the one that was committed to: ${found.why}`);
      case 'kept as erased':
        return broken('body_kept', seq, 'is kept as erased, and its salt or its bytes are there all the same');
    }
  };
  const isKeptRight = async (found: SourceBody, { commitment }: NamedBody, seq: number): Promise<boolean> => {
    if (found.kind !== 'present' || found.entry === undefined || found.entry === seq) return true;
    for await (const { entry } of entriesBetween(source, found.entry, found.entry + 1)) {
      const read = typed({ entry });
      return read !== undefined && bodiesIn(read).some((named) => named.commitment === commitment);
    }
    return false;
  };
  return {
    counts,
    async read(named, seq) {
      const found = (await source.body?.(named.commitment)) ?? { kind: 'left out' };
      const looked = look(found, named, seq);
      // SECURITY: T-31 — it would be pruned with another entry than its own, or never.
      if (looked.kind !== 'sound' || (await isKeptRight(found, named, seq))) return looked;
      return broken('index_edited', seq, 'is kept with another entry than its own');
    },
    async gone(commitment, seq) {
      const found = await source.body?.(commitment);
      // SECURITY: T-54 — with its salt back, what was erased can be guessed, and the log would go on saying that it is gone.
      if (found === undefined || !THERE.includes(found.kind)) return undefined;
      return { code: 'body_kept', seq, why: `Entry ${seq} says that a body was erased, and it or its salt is there.` };
    },
    remarks: () => unprovenErasures(unproven),
  };
}

const THERE: readonly SourceBody['kind'][] = ['present', 'unreadable', 'kept as erased'];

export function unprovenErasures(count: number): readonly string[] {
  return count === 0 ? [] : [`${count} bodies are said to be erased by entries that were not looked at here.`];
}

function hasOtherTotal(
  { bytes, totalBytes }: Extract<SourceBody, { kind: 'present' }>,
  total: NamedBody['total'],
): boolean {
  if (totalBytes === undefined || total === undefined) return false;
  return totalBytes !== (total === 'uncut' ? bytes.length : total);
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

interface NamingFields {
  readonly bodies: readonly { readonly name: string; readonly total: string; readonly tellsTotal: boolean }[];
  readonly snapshots: readonly string[];
}

/** Made once for each kind: every entry asks. */
const FIELDS: ReadonlyMap<string, NamingFields> = new Map(
  (Object.keys(ENTRY_KINDS) as EntryKind[]).map((kind) => [
    kind,
    {
      bodies: fieldsOfType(kind, 'body').map((name) => {
        const total = `${name}_total`;
        return { name, total, tellsTotal: Object.hasOwn(ENTRY_KINDS[kind].fields, total) };
      }),
      snapshots: fieldsOfType(kind, 'snapshot'),
    },
  ]),
);

/** The bodies that an entry commits to. */
export function bodiesIn({ kind, data }: TypedEntry): readonly NamedBody[] {
  const values = data as Readonly<Record<string, unknown>>;
  const named: NamedBody[] = [];
  for (const { name, total, tellsTotal } of FIELDS.get(kind)?.bodies ?? []) {
    const commitment = values[name];
    if (typeof commitment !== 'string') continue;
    const told = values[total];
    if (typeof told === 'number') named.push({ commitment, total: told });
    else named.push(tellsTotal ? { commitment, total: 'uncut' } : { commitment });
  }
  return named;
}

/** The digests of the policy snapshots that an entry names. */
export function snapshotsIn({ kind, data }: TypedEntry): readonly string[] {
  const names = FIELDS.get(kind)?.snapshots ?? [];
  if (names.length === 0) return names;
  const values = data as Readonly<Record<string, unknown>>;
  return names.map((name) => values[name]).filter((value) => typeof value === 'string');
}
