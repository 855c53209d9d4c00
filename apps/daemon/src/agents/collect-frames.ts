import { timingSafeEqual } from 'node:crypto';
import type { ToldEnd } from '@palyra/agents/exits';
import { type HookKey, MAC_BYTES, macOf, NONCE_BYTES } from './hook-frames.ts';

/**
 * What `palyra-hook exec` and palyrad say to each other: the id of a command that was decided, and then what that command puts
 * out and how it ends. Signed as a hook's question is. `native/hook/frames.c` has the same.
 *
 *   collection  "PLC1" nonce[32] u16 id mac[32]
 *   told        u8 kind (1 stdout, 2 stderr, 3 end) u32 payload mac[32], the mac over the nonce of the collection and a
 *               u64 that counts what was told as well; the payload of the end is u8 exit and words for standard error
 */
export const COLLECT_MAGIC: Buffer = Buffer.from('PLC1');
const MOST_ID = 64;
const HEAD_BYTES = COLLECT_MAGIC.length + NONCE_BYTES + 2;
/** Of a frame's payload. */
export const MOST_TOLD: number = 64 * 1024;

export interface Collection {
  readonly nonce: Buffer;
  readonly callId: string;
}

export type ReadCollection =
  | { readonly kind: 'collection'; readonly collection: Collection }
  | { readonly kind: 'more'; readonly whole?: number }
  /** Not ours: nothing is said to it. */
  | { readonly kind: 'refused' };

/** Of what has arrived so far. Nothing of it is used before the whole was found to be signed. */
export function readCollection(bytes: Buffer, key: HookKey): ReadCollection {
  const magic = bytes.subarray(0, COLLECT_MAGIC.length);
  if (!magic.equals(COLLECT_MAGIC.subarray(0, magic.length))) return { kind: 'refused' };
  if (bytes.length < HEAD_BYTES) return { kind: 'more' };
  const idLength = bytes.readUInt16BE(HEAD_BYTES - 2);
  if (idLength > MOST_ID) return { kind: 'refused' };
  const end = HEAD_BYTES + idLength;
  if (bytes.length < end + MAC_BYTES) return { kind: 'more', whole: end + MAC_BYTES };
  if (bytes.length > end + MAC_BYTES) return { kind: 'refused' };
  const expected = macOf('palyra.hook.collect', [bytes.subarray(0, end)], key);
  // SECURITY: T-36 — only who holds the key of this home comes for its agent's commands.
  if (!timingSafeEqual(expected, bytes.subarray(end))) return { kind: 'refused' };
  return {
    kind: 'collection',
    collection: {
      nonce: bytes.subarray(COLLECT_MAGIC.length, COLLECT_MAGIC.length + NONCE_BYTES),
      callId: bytes.toString('utf8', HEAD_BYTES, end),
    },
  };
}

/** One collection's frames, in the order in which they are sent. */
export interface Teller {
  /** At most `MOST_TOLD` of it. */
  output(stream: 'stdout' | 'stderr', bytes: Uint8Array): Buffer;
  end(how: ToldEnd): Buffer;
}

const KINDS = { stdout: 1, stderr: 2, end: 3 } as const;

/** SECURITY: T-58 — each is signed with its place among all: none can be made, left out, repeated or put before another. */
export function createTeller({ nonce }: Pick<Collection, 'nonce'>, key: HookKey): Teller {
  let told = 0n;
  const tell = (kind: (typeof KINDS)[keyof typeof KINDS], payload: Uint8Array): Buffer => {
    const nth = Buffer.alloc(8);
    nth.writeBigUInt64BE(told);
    told += 1n;
    const head = Buffer.alloc(5);
    head.writeUInt8(kind);
    head.writeUInt32BE(payload.length, 1);
    return Buffer.concat([head, payload, macOf('palyra.hook.told', [nonce, nth, head, payload], key)]);
  };
  return {
    output: (stream, bytes) => tell(KINDS[stream], bytes),
    end: ({ exit, words }) =>
      tell(KINDS.end, Buffer.concat([Buffer.of(exit), Buffer.from(words)]).subarray(0, MOST_TOLD)),
  };
}
