import { canonicalJson, type JsonValue, MAX_JSON_DEPTH } from '@palyra/primitives/browser';

/**
 * The value of a text in the one spelling of RFC 8785; undefined for any other text. A repeated key, a space, a second
 * spelling of a number or letter: nothing of the kind comes out as it went in.
 */
export function parseCanonical(text: string): JsonValue | undefined {
  try {
    const value = JSON.parse(text) as JsonValue;
    return isPlainlyCanonical(value, text) || canonicalJson(value) === text ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Almost every canonical text is found to be one here, in a fraction of the time that writing it anew takes; a verifier
 * reads millions. ECMAScript writes text and numbers as RFC 8785 does, but halves of surrogate pairs as `\ud…`.
 */
function isPlainlyCanonical(value: JsonValue, text: string): boolean {
  return !text.includes('\\ud') && JSON.stringify(value) === text && isSorted(value, 0);
}

function isSorted(value: JsonValue, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (depth >= MAX_JSON_DEPTH) return false;
  const keys = Array.isArray(value) ? [] : Object.keys(value);
  if (!keys.every((key, index) => index === 0 || (keys[index - 1] as string) < key)) return false;
  return Object.values(value).every((item: JsonValue) => isSorted(item, depth + 1));
}
