import type { SignedBytes } from './format/crypto.ts';

const KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;
const LENGTH_BYTES = 4;

/** One piece of memory for many: sending each by itself to another thread costs as much as its message is long, many times. */
export function packSigned(all: readonly SignedBytes[]): Uint8Array<ArrayBuffer> {
  const packed = new Uint8Array(all.reduce((sum, { message }) => sum + HEAD_BYTES + message.length, 0));
  const view = new DataView(packed.buffer);
  let at = 0;
  for (const { publicKey, signature, message } of all) {
    packed.set(publicKey, at);
    packed.set(signature, at + KEY_BYTES);
    view.setUint32(at + KEY_BYTES + SIGNATURE_BYTES, message.length);
    packed.set(message, at + HEAD_BYTES);
    at += HEAD_BYTES + message.length;
  }
  return packed;
}

const HEAD_BYTES = KEY_BYTES + SIGNATURE_BYTES + LENGTH_BYTES;

/** Whether it can be packed; the lengths of its key and signature are not told. */
export function isPackable({ publicKey, signature }: SignedBytes): boolean {
  return publicKey.length === KEY_BYTES && signature.length === SIGNATURE_BYTES;
}

export function* unpackSigned(packed: Uint8Array): Generator<SignedBytes> {
  const view = new DataView(packed.buffer, packed.byteOffset, packed.byteLength);
  for (let at = 0; at < packed.length; ) {
    const message = at + HEAD_BYTES;
    const end = message + view.getUint32(message - LENGTH_BYTES);
    yield {
      publicKey: packed.subarray(at, at + KEY_BYTES),
      signature: packed.subarray(at + KEY_BYTES, message - LENGTH_BYTES),
      message: packed.subarray(message, end),
    };
    at = end;
  }
}
