/**
 * Decodes one label without its `xn--` (RFC 3492), or returns undefined when it is not punycode.
 * Own code because `node:punycode` is deprecated and missing in browsers, and WHATWG URLs only encode.
 */
export function decodePunycode(encoded: string): string | undefined {
  const delimiter = encoded.lastIndexOf('-');
  const output = Array.from(encoded.slice(0, Math.max(0, delimiter)));
  const deltas = encoded.slice(delimiter + 1);
  let codePoint = 128;
  let position = 0;
  let bias = 72;
  for (let at = 0; at < deltas.length; ) {
    const before = position;
    let weight = 1;
    for (let step = 36; ; step += 36) {
      const digit = digitValue(deltas.charCodeAt(at));
      at += 1;
      if (digit === undefined) return undefined;
      position += digit * weight;
      const threshold = Math.min(26, Math.max(1, step - bias));
      if (digit < threshold) break;
      weight *= 36 - threshold;
      if (weight > 2 ** 31) return undefined;
    }
    const length = output.length + 1;
    bias = adaptBias(position - before, length, before === 0);
    codePoint += Math.floor(position / length);
    if (codePoint > 0x10ffff) return undefined;
    position %= length;
    output.splice(position, 0, String.fromCodePoint(codePoint));
    position += 1;
  }
  return output.join('');
}

/** `a` to `z` are 0 to 25, `0` to `9` are 26 to 35. */
function digitValue(code: number): number | undefined {
  if (code >= 0x61 && code <= 0x7a) return code - 0x61;
  if (code >= 0x30 && code <= 0x39) return code - 0x30 + 26;
  return undefined;
}

function adaptBias(delta: number, length: number, first: boolean): number {
  let rest = first ? Math.floor(delta / 700) : Math.floor(delta / 2);
  rest += Math.floor(rest / length);
  let bias = 0;
  for (; rest > 455; bias += 36) rest = Math.floor(rest / 35);
  return bias + Math.floor((36 * rest) / (rest + 38));
}
