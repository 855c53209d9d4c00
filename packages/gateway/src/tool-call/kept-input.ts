import type { Body, StoredBodies } from '@palyra/journal';
import { sha256Hex } from '@palyra/primitives';

/** What fits into a row: no file is written for what is refused. */
const MOST_BYTES = 64 * 1024;
/** Leaves room for what is said about the rest. */
const FIRST_BYTES = 63 * 1024;

/**
 * What is kept of an input of which it is not known yet whether it is refused: all of it, or its beginning.
 * SECURITY: T-39 — an agent that is refused all the time does not fill the disk.
 */
export async function prepareFirst(input: string, bodies: Pick<StoredBodies, 'prepare'>): Promise<Body> {
  const cut = cutInput(input);
  if (cut === undefined) return bodies.prepare(input);
  return { ...(await bodies.prepare(cut.kept)), totalBytes: cut.total };
}

export function isCut({ bytes, totalBytes }: Body): boolean {
  return totalBytes > bytes;
}

/** Whether this is what was kept of the input, in whole or cut. */
export function isKeptInput(kept: Uint8Array, input: string): boolean {
  return Buffer.from(input).equals(kept) || cutInput(input)?.kept.equals(kept) === true;
}

/** What is cut off is told by its length and digest, in the body, so that both are erased with it. Undefined: it is short. */
function cutInput(input: string): { readonly kept: Buffer; readonly total: number } | undefined {
  if (3 * input.length <= MOST_BYTES) return undefined;
  const bytes = Buffer.from(input);
  if (bytes.length <= MOST_BYTES) return undefined;
  const rest = `\n[refused, so this is the beginning of ${bytes.length} bytes with the SHA-256 ${sha256Hex(bytes)}]\n`;
  return { kept: Buffer.concat([bytes.subarray(0, FIRST_BYTES), Buffer.from(rest)]), total: bytes.length };
}
