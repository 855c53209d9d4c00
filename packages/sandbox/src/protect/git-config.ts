/** One `section.subsection.key = value`; section and key in lower case, as git compares them. */
export interface ConfigEntry {
  readonly section: string;
  readonly subsection: string | undefined;
  readonly key: string;
  /** Undefined: there is no `=`, which means true. */
  readonly value: string | undefined;
}

/** Undefined: git would not read it either, or we are not sure that we read it as git does. */
export function parseGitConfig(text: string): readonly ConfigEntry[] | undefined {
  // A space to git, here and there, and not to everybody else: nobody writes one.
  if (/\r(?!\n)/.test(text)) return undefined;
  const entries: ConfigEntry[] = [];
  const reader = createReader(text);
  let section: Pick<ConfigEntry, 'section' | 'subsection'> | undefined;
  for (;;) {
    reader.skip(/[ \t\n]*/y);
    if (reader.isAtEnd()) return entries;
    if (reader.take(/[#;][^\n]*/y) !== undefined) continue;
    const header = reader.take(SECTION);
    if (header !== undefined) {
      section = sectionOf(header);
      continue;
    }
    const key = reader.take(/([A-Za-z][A-Za-z0-9-]*)[ \t]*/y)?.[1];
    if (key === undefined || section === undefined) return undefined;
    if (reader.take(/=[ \t]*/y) === undefined) {
      // A comment may follow, anything else may not.
      if (reader.take(/(?:[#;][^\n]*)?(?:\n|$)/y) === undefined) return undefined;
      entries.push({ ...section, key: key.toLowerCase(), value: undefined });
      continue;
    }
    const value = readValue(reader);
    if (value === undefined) return undefined;
    entries.push({ ...section, key: key.toLowerCase(), value });
  }
}

/** The same entries, so that git reads them again. Comments and order of sections are not what they were. */
export function writeGitConfig(entries: readonly ConfigEntry[]): string {
  const lines = entries.map((entry, at) => {
    const before = entries[at - 1];
    const isSameSection = before?.section === entry.section && before.subsection === entry.subsection;
    const { key, value } = entry;
    return `${isSameSection ? '' : sectionLine(entry)}\t${key}${value === undefined ? '' : ` = ${quoted(value)}`}\n`;
  });
  return lines.join('');
}

function sectionLine({ section, subsection }: ConfigEntry): string {
  return subsection === undefined ? `[${section}]\n` : `[${section} "${subsection.replace(/["\\]/g, '\\$&')}"]\n`;
}

/** `[a]`, `[a "b"]`, and `[a.b]` of old. */
const SECTION = /\[([A-Za-z0-9-]+)(?:\.([A-Za-z0-9.-]+)|[ \t]+"((?:[^"\\\n]|\\[^\n])*)")?\]/y;

function sectionOf([, name = '', dotted, inQuotes]: RegExpExecArray): Pick<ConfigEntry, 'section' | 'subsection'> {
  const subsection = dotted?.toLowerCase() ?? inQuotes?.replace(/\\(.)/g, '$1');
  return { section: name.toLowerCase(), subsection };
}

interface Reader {
  take(pattern: RegExp): RegExpExecArray | undefined;
  skip(pattern: RegExp): void;
  isAtEnd(): boolean;
}

function createReader(given: string): Reader {
  // Git skips a byte order mark; in text of which each byte is a character it is three.
  const text = given.replace(/^(?:\ufeff|\u00ef\u00bb\u00bf)/, '').replaceAll('\r\n', '\n');
  let at = 0;
  const take = (pattern: RegExp) => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found === null) return undefined;
    at = pattern.lastIndex;
    return found;
  };
  return { take, skip: (pattern) => void take(pattern), isAtEnd: () => at >= text.length };
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', b: '\b', '"': '"', '\\': '\\', '\n': '' };

/** To the end of the line; quotes may begin and end anywhere in it. */
function readValue(reader: Reader): string | undefined {
  let value = '';
  // Spaces count when something comes after them.
  let spaces = '';
  let isQuoted = false;
  for (;;) {
    if (reader.isAtEnd() || (!isQuoted && reader.take(/\n/y) !== undefined)) return isQuoted ? undefined : value;
    const escaped = reader.take(/\\([\s\S]?)/y)?.[1];
    if (escaped !== undefined) {
      const meant = ESCAPES[escaped];
      if (meant === undefined) return undefined;
      value += spaces + meant;
      spaces = '';
      continue;
    }
    if (reader.take(/"/y) !== undefined) {
      isQuoted = !isQuoted;
      value += spaces;
      spaces = '';
      continue;
    }
    if (!isQuoted && reader.take(/[#;][^\n]*/y) !== undefined) continue;
    // Most of it, at once: one character after the other takes fifty times as long.
    const plain = reader.take(/[^\n\0"\\#; \t]+/y)?.[0];
    if (plain !== undefined) {
      value += spaces + plain;
      spaces = '';
      continue;
    }
    const character = reader.take(/[^\n]/y)?.[0];
    if (character === undefined || character === '\0') return undefined;
    if (!isQuoted && /[ \t]/.test(character)) spaces += character;
    else {
      value += spaces + character;
      spaces = '';
    }
  }
}

function quoted(value: string): string {
  const escaped = value
    .replace(/["\\]/g, '\\$&')
    .replaceAll('\n', '\\n')
    .replaceAll('\t', '\\t')
    .replaceAll('\b', '\\b');
  return `"${escaped}"`;
}
