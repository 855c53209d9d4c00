/**
 * What a keyboard sends, as the one key that it is.
 * SECURITY: T-08 — one key at a time: what is pasted, what was typed ahead in a row, and what arrow keys send, answers nothing.
 */
export function singleKey(bytes: Uint8Array): string | undefined {
  const typed = Buffer.from(bytes).toString();
  return typed.length === 1 ? typed : undefined;
}
