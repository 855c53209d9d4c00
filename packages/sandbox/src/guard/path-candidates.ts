/**
 * Every text in an argument that a program might take for a path. The program is unknown, so all readings count: the
 * whole, what follows a separator, what lies between two, what an attached short flag leaves. Too many cost a refusal.
 */
export function pathCandidates(argument: string): readonly string[] {
  const readings = [argument, ...decodedFileUrl(argument)];
  const parts = readings.flatMap((reading) => [reading, ...partsOf(reading)]);
  // `--flags=-C/etc` and `-Wl,-T/etc`: a part may be an option again.
  const candidates = parts.flatMap((part) => [part, ...attachedValues(part)]);
  return [...new Set(candidates)].filter((candidate) => candidate !== '' && candidate !== '-');
}

/**
 * A URL to somewhere else, but nothing behind a separator that could begin a path of its own. SECURITY: T-12 —
 * `src://etc/passwd` may as well be a list of two paths, so only known schemes and hosts that look like one count.
 */
const REMOTE_URL =
  /(?<![a-z0-9+.-])(?:https?|ftps?|wss?|ssh|git(?:\+ssh)?|sftp|rsync|svn|s3|gs|oci):\/\/(?:[^\s/,;'"@]*@)?(?:localhost|[a-z0-9_-]+(?:\.[a-z0-9_-]+)+)(?::\d+)?(?:\/[^\s,;'"<>|:=@?]*)?(?:\?[^\s,;'"<>|:]*)?/gi;

/** `user@host:path`, as scp and git write it; only as a whole argument. */
const REMOTE_PATH = /^[\w.-]+@[\w.-]+:(?!\/\/)[^\s,;'"<>|:=@]*$/;

/** The kernel opens nothing longer. */
const LONGEST = 4096;

const SEPARATOR = /[=:,;@<>({['"`|&\s]/;

/** In front of a path they say what to do with it: `@file`, `+file`, `!file`, `^file`. */
const SIGILS = /^[@<>+!%^#&*?$]+/;

function partsOf(argument: string): readonly string[] {
  if (REMOTE_PATH.test(argument)) return [];
  const text = argument.replaceAll(REMOTE_URL, 'url');
  const parts: string[] = [];
  let start = 0;
  for (let index = 0; index <= text.length; index++) {
    if (index < text.length && !SEPARATOR.test(text[index] ?? '')) continue;
    // Both the piece and all that follows: the separator may belong to the name.
    const rest = start === 0 || text.length - start > LONGEST ? '' : text.slice(start);
    for (const part of [text.slice(start, index), rest]) {
      parts.push(part, part.replace(SIGILS, ''));
    }
    start = index + 1;
  }
  return parts;
}

/** SECURITY: T-12 — `-C/etc` and `-vC/etc`: which letter takes the value is unknown, so each may. */
function attachedValues(argument: string): readonly string[] {
  const cluster = /^-([A-Za-z0-9?#-]*)/.exec(argument)?.[1];
  if (cluster === undefined) return [];
  // The flags of a long option's name take nothing without `=`, which separates already; a path right behind it does.
  const from = argument.startsWith('--') ? cluster.length : 0;
  const values: string[] = [];
  for (let index = from; index <= cluster.length; index++) {
    const value = argument.slice(1 + index);
    const [piece = ''] = value.split(SEPARATOR, 1);
    values.push(value, piece);
  }
  return values;
}

function decodedFileUrl(argument: string): readonly string[] {
  if (!/file:/i.test(argument)) return [];
  try {
    return [decodeURIComponent(argument)];
  } catch {
    // Decoded by hand: a program may be more forgiving than we are.
    return [argument.replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))];
  }
}
