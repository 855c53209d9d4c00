/** Concatenates with lengths, so that no two lists of strings are written alike (draft-irtf-cfrg-cpace-21, A.1). */
export function lengthValue(...parts: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(parts.flatMap((part) => [leb128(part.length), part]));
}

/** Seven bits a byte, the lowest first. */
function leb128(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  do {
    const low = rest % 128;
    rest = Math.floor(rest / 128);
    bytes.push(rest === 0 ? low : low + 128);
  } while (rest !== 0);
  return Uint8Array.from(bytes);
}
