import { bytesOfBase64 } from '../format/bytes.ts';
import { type BodyItem, SNAPSHOTS_KEPT, type SnapshotLine } from './export-format.ts';
import type { SourceBody } from './log-source.ts';
import { bytesOf } from './written-log.ts';

/** The bodies of the entries that are being verified. */
export interface KeptBodies {
  /** Returns how much was kept, in characters. */
  keep(line: { readonly bodies?: readonly BodyItem[] }): number;
  find(commitment: string): SourceBody;
  /** Forgets those from before the last turn: whoever verifies one page may already have asked for the next. */
  turnPage(): void;
}

/** `end`: where the file ends. */
export function createKeptBodies(end: number): KeptBodies {
  let current = new Map<string, BodyItem>();
  let before: ReadonlyMap<string, BodyItem> = new Map();
  return {
    keep({ bodies = [] }) {
      let length = 0;
      for (const item of bodies) {
        current.set(item.commitment, item);
        length += 'body' in item ? item.body.length : 0;
      }
      return length;
    },
    find(commitment) {
      const item = current.get(commitment) ?? before.get(commitment);
      return item === undefined ? { kind: 'missing' } : sourceBody(item, end);
    },
    turnPage() {
      before = current;
      current = new Map();
    },
  };
}

/** What says that a body was erased may be in a later file, or a later log; then nothing here shows that it was. */
export function sourceBody(item: BodyItem, end: number): SourceBody {
  if ('erased_by' in item) {
    const isHere = item.erased_in === undefined && item.erased_by < end;
    return isHere ? { kind: 'erased', erasedBy: item.erased_by } : { kind: 'said to be erased' };
  }
  const bytes = bytesOfBase64(item.body);
  if (bytes === undefined) return { kind: 'unreadable', why: 'it is not written in base64' };
  return { kind: 'present', salt: bytesOf(item.salt), bytes };
}

export interface KeptSnapshots {
  keep(line: SnapshotLine): void;
  find(digest: string): string | undefined;
}

export function createKeptSnapshots(): KeptSnapshots {
  const texts = new Map<string, string>();
  return {
    keep({ digest, text }) {
      texts.set(digest, text);
      const [oldest] = texts.keys();
      if (texts.size > SNAPSHOTS_KEPT && oldest !== undefined) texts.delete(oldest);
    },
    find: (digest) => texts.get(digest),
  };
}
