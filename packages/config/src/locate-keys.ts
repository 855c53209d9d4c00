import { parse } from 'smol-toml';

/** Offsets into the text, end excluded. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export type KeyPath = readonly (string | number)[];

/** Where a key is first written. Tables named by a header or by a dotted key have no value of their own. */
export interface KeyLocation {
  readonly path: KeyPath;
  readonly key: Span;
  readonly value: Span | undefined;
}

/** A stretch of lines that belong to one table: the root's, up to the first header, or one header's. */
export interface TableBlock {
  readonly path: KeyPath;
  /** Behind the header's closing bracket; 0 for the root. */
  readonly start: number;
  /** Where the next header starts, or the text ends. */
  readonly end: number;
  /** Behind the last value in the block, or `start` when there is none. */
  readonly lastValueEnd: number;
}

export interface KeyMap {
  find(path: KeyPath): KeyLocation | undefined;
  readonly locations: readonly KeyLocation[];
  readonly blocks: readonly TableBlock[];
}

/** Far deeper than any setting. Each prefix of a path is kept, so without a bound one long key costs its square. */
const DEEPEST_LOCATED = 16;

/**
 * Says where every key of a TOML document stands, down to `DEEPEST_LOCATED`, which smol-toml does not. Only for text
 * that smol-toml has accepted: it leans on that and judges nothing itself.
 */
export function locateKeys(text: string): KeyMap {
  const found = new Map<string, KeyLocation>();
  const scan = new Scan(text, (location) => {
    if (isTooDeep(location.path)) return;
    const id = JSON.stringify(location.path);
    const known = found.get(id);
    if (known === undefined || (known.value === undefined && location.value !== undefined)) found.set(id, location);
  });
  const blocks = scan.document();
  return { find: (path) => found.get(JSON.stringify(path)), locations: [...found.values()], blocks };
}

interface KeySegment extends Span {
  readonly name: string;
}

function isTooDeep(path: KeyPath): boolean {
  return path.length > DEEPEST_LOCATED;
}

/** A path that is too deep grows no further: it names nothing, and only says that what is below is too deep as well. */
function below(path: KeyPath, name: string | number): KeyPath {
  return isTooDeep(path) ? path : [...path, name];
}

const BLANK = /[ \t]/;
const BLANK_OR_NEWLINE = /[ \t\r\n]/;
const BARE_KEY = /[A-Za-z0-9_-]/;
const BARE_VALUE_END = /[,\]}#\r\n]/;

class Scan {
  readonly #text: string;
  readonly #report: (location: KeyLocation) => void;
  /** How many tables each array of tables has so far. */
  readonly #tableCounts = new Map<string, number>();
  #at = 0;

  constructor(text: string, report: (location: KeyLocation) => void) {
    this.#text = text;
    this.#report = report;
  }

  document(): readonly TableBlock[] {
    const blocks: TableBlock[] = [];
    let block: TableBlock = { path: [], start: 0, end: 0, lastValueEnd: 0 };
    this.#skipVoid();
    while (this.#at < this.#text.length) {
      if (this.#peek() === '[') {
        blocks.push({ ...block, end: this.#at });
        const path = this.#header();
        block = { path, start: this.#at, end: this.#at, lastValueEnd: this.#at };
      } else {
        this.#pair(block.path);
        block = { ...block, lastValueEnd: this.#at };
      }
      this.#skipVoid();
    }
    blocks.push({ ...block, end: this.#text.length });
    return blocks;
  }

  #header(): KeyPath {
    const isArray = this.#text.startsWith('[[', this.#at);
    this.#at += isArray ? 2 : 1;
    const segments = this.#keySegments();
    this.#at += isArray ? 2 : 1;

    let path: KeyPath = [];
    segments.forEach((segment, index) => {
      path = below(path, segment.name);
      if (isTooDeep(path)) return;
      const span = { start: segment.start, end: segment.end };
      this.#report({ path, key: span, value: undefined });

      const id = JSON.stringify(path);
      const isNewTable = isArray && index === segments.length - 1;
      const count = (this.#tableCounts.get(id) ?? 0) + (isNewTable ? 1 : 0);
      if (count === 0) return;
      this.#tableCounts.set(id, count);
      path = below(path, count - 1);
      this.#report({ path, key: span, value: undefined });
    });
    return path;
  }

  /** One `key = value`, at the top or in an inline table. */
  #pair(table: KeyPath): void {
    const segments = this.#keySegments();
    this.#at += 1; // =
    this.#skip(BLANK);

    const paths: KeyPath[] = [];
    for (const segment of segments) paths.push(below(paths.at(-1) ?? table, segment.name));
    const value = this.#value(paths.at(-1) ?? table);
    segments.forEach((segment, index) => {
      const isLast = index === segments.length - 1;
      this.#report({
        path: paths[index] ?? table,
        key: { start: segment.start, end: segment.end },
        value: isLast ? value : undefined,
      });
    });
  }

  /** Stops at what follows the key: `=` or `]`. */
  #keySegments(): readonly KeySegment[] {
    const segments: KeySegment[] = [];
    do {
      if (segments.length > 0) this.#at += 1; // .
      this.#skip(BLANK);
      const start = this.#at;
      const isQuoted = this.#peek() === '"' || this.#peek() === "'";
      if (isQuoted) this.#string();
      else this.#skip(BARE_KEY);
      const raw = this.#text.slice(start, this.#at);
      segments.push({ start, end: this.#at, name: isQuoted ? decodeString(raw) : raw });
      this.#skip(BLANK);
    } while (this.#peek() === '.');
    return segments;
  }

  #value(path: KeyPath): Span {
    const start = this.#at;
    const first = this.#peek();
    if (first === '"' || first === "'") this.#string();
    else if (first === '[') this.#items(']', (index) => this.#element(below(path, index)));
    else if (first === '{') this.#items('}', () => this.#pair(path));
    else this.#bareValue();
    return { start, end: this.#at };
  }

  #items(close: string, item: (index: number) => void): void {
    this.#at += 1;
    this.#skipVoid();
    for (let index = 0; this.#peek() !== close && this.#at < this.#text.length; index++) {
      item(index);
      this.#skipVoid();
      if (this.#peek() === ',') this.#at += 1;
      this.#skipVoid();
    }
    this.#at += 1;
  }

  #element(path: KeyPath): void {
    const span = this.#value(path);
    this.#report({ path, key: span, value: span });
  }

  /** A number, a boolean or a date, which may have a blank in its middle. */
  #bareValue(): void {
    const start = this.#at;
    while (this.#at < this.#text.length && !BARE_VALUE_END.test(this.#peek())) this.#at += 1;
    this.#at = start + this.#text.slice(start, this.#at).trimEnd().length;
  }

  #string(): void {
    const quote = this.#peek();
    const isMultiLine = this.#text.startsWith(quote.repeat(3), this.#at);
    const close = isMultiLine ? quote.repeat(3) : quote;
    this.#at += close.length;
    while (this.#at < this.#text.length && !this.#text.startsWith(close, this.#at)) {
      this.#at += quote === '"' && this.#peek() === '\\' ? 2 : 1;
    }
    this.#at += close.length;
    // Up to two quotes may stand before the closing three, so the last three are the ones that close.
    if (isMultiLine) this.#skip(quote === '"' ? /"/ : /'/);
  }

  #skipVoid(): void {
    this.#skip(BLANK_OR_NEWLINE);
    while (this.#peek() === '#') {
      while (this.#at < this.#text.length && this.#peek() !== '\n') this.#at += 1;
      this.#skip(BLANK_OR_NEWLINE);
    }
  }

  #skip(characters: RegExp): void {
    while (this.#at < this.#text.length && characters.test(this.#peek())) this.#at += 1;
  }

  #peek(): string {
    return this.#text.charAt(this.#at);
  }
}

function decodeString(raw: string): string {
  return parse(`key = ${raw}`)['key'] as string;
}
