import { readShebang } from '../guard/shebang.ts';

/** What the kernel makes of the first line of a file. */
export type FirstLine =
  | { readonly kind: 'native' }
  | { readonly kind: 'script'; readonly interpreter: string; readonly argument: string | undefined }
  /** Read by different kernels in different ways. */
  | { readonly kind: 'odd' };

/** The kernel looks at so many bytes. */
const LONGEST_LINE = 255;

export function readFirstLine(head: Uint8Array): FirstLine {
  const shebang = readShebang(head);
  if (shebang === undefined) return { kind: 'native' };
  const end = head.indexOf(0x0a);
  const line = head.subarray(0, end < 0 ? head.length : end);
  // SECURITY: T-04 — where we and the kernel could read two things, nothing is claimed.
  if (end < 0 || line.length > LONGEST_LINE || !line.every(isPlain) || shebang.path === '') return { kind: 'odd' };
  return { kind: 'script', interpreter: shebang.path, argument: shebang.argument };
}

function isPlain(byte: number): boolean {
  return byte === 0x09 || (byte >= 0x20 && byte < 0x7f);
}

/**
 * `env NAME` or `env -S NAME ARGUMENT…`, as words: what `env` of a `#!` line would start. Undefined for anything else, quoting
 * and variables among it.
 */
export function envWords(argument: string | undefined): readonly string[] | undefined {
  if (argument === undefined) return undefined;
  const split = /^-S[ \t]*(.*)$/.exec(argument)?.[1];
  const words = split === undefined ? [argument] : split.split(/[ \t]+/);
  const [first = ''] = words;
  const arePlain = words.every((word) => /^[\w./:,@%^+=-]+$/.test(word));
  // Without -S the kernel passes one argument, spaces and all.
  return arePlain && !first.startsWith('-') && !first.includes('=') ? words : undefined;
}
