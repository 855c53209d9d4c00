/**
 * SECURITY: T-15 — on Linux a name is bytes, and one that is no UTF-8 can hold a repository like any other. In our strings
 * each byte that is no text is a lone surrogate (U+DC80 to U+DCFF), so that the name can be looked up again.
 */
export function fromBytes(name: Buffer): string {
  const text = name.toString('utf8');
  if (!text.includes('\ufffd') || Buffer.from(text, 'utf8').equals(name)) return text;
  let at = 0;
  let out = '';
  while (at < name.length) {
    const length = lengthOfCharacter(name, at);
    out += length === 0 ? String.fromCharCode(0xdc00 + (name[at] ?? 0)) : name.toString('utf8', at, at + length);
    at += Math.max(length, 1);
  }
  return out;
}

/** What the file system calls it. */
export function toBytes(path: string): string | Buffer {
  if (path.isWellFormed()) return path;
  const parts: Buffer[] = [];
  for (const each of path) {
    const code = each.charCodeAt(0);
    const isByte = each.length === 1 && code >= 0xdc80 && code <= 0xdcff;
    parts.push(isByte ? Buffer.from([code - 0xdc00]) : Buffer.from(each, 'utf8'));
  }
  return Buffer.concat(parts);
}

/** 0 when no character begins there. */
function lengthOfCharacter(bytes: Buffer, at: number): number {
  for (const length of [1, 2, 3, 4]) {
    const part = bytes.subarray(at, at + length);
    if (part.length === length && Buffer.from(part.toString('utf8'), 'utf8').equals(part)) return length;
  }
  return 0;
}
