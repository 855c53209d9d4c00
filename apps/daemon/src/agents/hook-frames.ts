import { createHmac, createSecretKey, type Hmac, type KeyObject, timingSafeEqual } from 'node:crypto';
import type { HookReply } from '@palyra/agents';
import type { AskedHook } from './agent-sessions.ts';

/**
 * What `palyra-hook` and palyrad say to each other: one question, one answer. Both are signed with a key that neither sends:
 * whoever sits on the port can make neither. It can read the question, which is not encrypted: the agent's message, with the
 * arguments of its tool and what the tool put out. `native/hook/frames.c` has the same.
 *
 *   question  "PLH2" nonce[32] u16 client u16 program u16 directory u32 message mac[32]
 *   answer    u8 exit u32 stdout u32 stderr mac[32], the mac over the nonce of the question as well
 */
export const HOOK_MAGIC: Buffer = Buffer.from('PLH2');
export const HOOK_KEY_BYTES = 32;
export const NONCE_BYTES = 32;
export const MAC_BYTES = 32;
const MOST_NAME = 64;
const MOST_PATH = 4096;
/** What tools report is in it. */
export const MOST_MESSAGE: number = 8 * 1024 * 1024;
const HEAD_BYTES = HOOK_MAGIC.length + NONCE_BYTES + 2;
/** All before the message, as long as it can be. */
export const MOST_HEAD: number = HEAD_BYTES + MOST_NAME + 2 * (2 + MOST_PATH) + 4;
export const MOST_QUESTION: number = MOST_HEAD + MOST_MESSAGE + MAC_BYTES;

/** Made once: of bare bytes one is made for each signature, which takes longer than signing. */
export type HookKey = KeyObject;

export function hookKeyOf(bytes: Uint8Array): HookKey {
  return createSecretKey(bytes);
}

export interface HookQuestion extends AskedHook {
  readonly nonce: Buffer;
}

export type ReadQuestion =
  | { readonly kind: 'question'; readonly question: HookQuestion }
  /** `whole`: how long it says that it is, once it has said so. */
  | { readonly kind: 'more'; readonly whole?: number }
  /** Not ours: nothing is said to it. */
  | { readonly kind: 'refused' };

/** Of what has arrived so far. Nothing of it is used before the whole was found to be signed. */
export function readQuestion(bytes: Buffer, key: HookKey): ReadQuestion {
  const magic = bytes.subarray(0, HOOK_MAGIC.length);
  if (!magic.equals(HOOK_MAGIC.subarray(0, magic.length))) return { kind: 'refused' };
  if (bytes.length < HEAD_BYTES) return { kind: 'more' };
  const clientLength = bytes.readUInt16BE(HEAD_BYTES - 2);
  if (clientLength > MOST_NAME) return { kind: 'refused' };
  const clientEnd = HEAD_BYTES + clientLength;
  if (bytes.length < clientEnd + 2) return { kind: 'more' };
  const programLength = bytes.readUInt16BE(clientEnd);
  if (programLength > MOST_PATH) return { kind: 'refused' };
  const programEnd = clientEnd + 2 + programLength;
  if (bytes.length < programEnd + 2) return { kind: 'more' };
  const directoryLength = bytes.readUInt16BE(programEnd);
  if (directoryLength > MOST_PATH) return { kind: 'refused' };
  const directoryEnd = programEnd + 2 + directoryLength;
  if (bytes.length < directoryEnd + 4) return { kind: 'more' };
  const messageLength = bytes.readUInt32BE(directoryEnd);
  if (messageLength > MOST_MESSAGE) return { kind: 'refused' };
  const end = directoryEnd + 4 + messageLength;
  if (bytes.length < end + MAC_BYTES) return { kind: 'more', whole: end + MAC_BYTES };
  if (bytes.length > end + MAC_BYTES) return { kind: 'refused' };
  const expected = takeSpare(key).update(bytes.subarray(0, end)).digest();
  // SECURITY: T-36 — only who holds the key of this home asks for its agent.
  if (!timingSafeEqual(expected, bytes.subarray(end))) return { kind: 'refused' };
  const text = (from: number, to: number) => bytes.toString('utf8', from, to);
  return {
    kind: 'question',
    question: {
      nonce: bytes.subarray(HOOK_MAGIC.length, HOOK_MAGIC.length + NONCE_BYTES),
      client: text(HEAD_BYTES, clientEnd),
      program: text(clientEnd + 2, programEnd),
      directory: text(programEnd + 2, directoryEnd),
      message: text(directoryEnd + 4, end),
    },
  };
}

/** SECURITY: T-58 — signed over the question's nonce: an answer of before, or of somebody else, is none. */
export function expectAnswer({ nonce }: Pick<HookQuestion, 'nonce'>, key: HookKey): BegunMac {
  return beginMac('palyra.hook.say', key).update(nonce);
}

/** Uses up what was begun for the question that it answers. */
export function writeAnswer({ exitCode, stdout, stderr }: HookReply, begun: BegunMac): Buffer {
  const [out, err] = [Buffer.byteLength(stdout), Buffer.byteLength(stderr)];
  const signed = 1 + 4 + out + 4 + err;
  const bytes = Buffer.alloc(signed + MAC_BYTES);
  const outAt = bytes.writeUInt32BE(out, bytes.writeUInt8(exitCode));
  const errAt = bytes.writeUInt32BE(err, outAt + bytes.write(stdout, outAt));
  bytes.write(stderr, errAt);
  begun.update(bytes.subarray(0, signed)).digest().copy(bytes, signed);
  return bytes;
}

/** Of something that is not there yet: to begin takes longer than to sign a question, and can be done while nobody waits. */
export type BegunMac = Pick<Hmac, 'update' | 'digest'>;

/** `purpose` says what is signed: what is signed as one thing is no other. */
function beginMac(purpose: string, key: HookKey): Hmac {
  return createHmac('sha256', key).update(`${purpose}\0`);
}

/** For the next question of each key. It holds nothing of any question, and is good for one. */
const spares = new WeakMap<HookKey, Hmac>();

/** For whoever has time: the next question is read sooner. */
export function expectQuestion(key: HookKey): void {
  if (!spares.has(key)) spares.set(key, beginMac('palyra.hook.ask', key));
}

function takeSpare(key: HookKey): BegunMac {
  const begun = spares.get(key) ?? beginMac('palyra.hook.ask', key);
  // SECURITY: T-36 — never again: a mac that was taken has a question in it.
  spares.delete(key);
  return begun;
}

export function macOf(purpose: string, parts: readonly Uint8Array[], key: HookKey): Buffer {
  const mac = beginMac(purpose, key);
  for (const part of parts) mac.update(part);
  return mac.digest();
}
