import { COLLECT_MAGIC, type ReadCollection, readCollection } from './collect-frames.ts';
import { type HookKey, MOST_HEAD, type ReadQuestion, readQuestion } from './hook-frames.ts';

export interface HeldRequest {
  /** What has arrived besides. Never again after it was something else than `more`. */
  hear(bytes: Buffer): ReadRequest;
}

/** A hook asks, or somebody comes for what a hook was allowed. */
export type ReadRequest = ReadQuestion | ReadCollection;

/**
 * SECURITY: T-39 — pieces are joined while the head is not whole, and once more at the end: joining at each of them is work
 * that grows with the square of what somebody without a key sends.
 */
export function holdRequest(key: HookKey): HeldRequest {
  const pieces: Buffer[] = [];
  let length = 0;
  let whole: number | undefined;
  return {
    hear(bytes) {
      pieces.push(bytes);
      length += bytes.length;
      if (whole !== undefined && length < whole) return { kind: 'more', whole };
      const read = readRequest(joined(pieces), key);
      if (read.kind === 'more') whole = read.whole;
      // A head that is not whole by now is none.
      return read.kind === 'more' && whole === undefined && length > MOST_HEAD ? { kind: 'refused' } : read;
    },
  };
}

/** What is too short to tell is the beginning of both. */
function readRequest(bytes: Buffer, key: HookKey): ReadRequest {
  const magic = bytes.subarray(0, COLLECT_MAGIC.length);
  const isCollection = magic.equals(COLLECT_MAGIC.subarray(0, magic.length));
  return isCollection ? readCollection(bytes, key) : readQuestion(bytes, key);
}

/** And from then on one piece. */
function joined(pieces: Buffer[]): Buffer {
  const all = Buffer.concat(pieces);
  pieces.splice(0, pieces.length, all);
  return all;
}
