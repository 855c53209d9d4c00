import { type Draft, type DraftWord, draftAt, type Scan, scanOf } from './shell-scan.ts';

/** What a line for a shell would start, as far as can be told without running it. */
export interface ShellReading {
  readonly commands: readonly SimpleCommand[];
  /** False: a quote or a bracket has no end, or is of a kind that shells read differently from what is read here. */
  readonly isWhole: boolean;
}

export interface SimpleCommand {
  readonly words: readonly ShellWord[];
  /** Where it reads from and writes to. */
  readonly files: readonly ShellWord[];
  readonly documents: readonly string[];
  /** As it was written. */
  readonly text: string;
}

export interface ShellWord {
  /** Without its quotes. */
  readonly text: string;
  /** Nothing in it is put in by the shell. */
  readonly isLiteral: boolean;
}

/**
 * Commands in each place where a shell looks for one: behind operators, in brackets, in substitutions. What only looks like
 * one is among them, so that none is missed.
 */
export function readShell(text: string): ShellReading {
  return readAt(text, 0);
}

function readAt(text: string, depth: number): ShellReading {
  const scan = scanOf(text, [], depth);
  readList(scan, undefined);
  return { commands: scan.commands, isWhole: scan.isWhole && scan.documents.length === 0 };
}

// SECURITY: T-39 — nobody writes so many in one another, and as many as fit into a command are more than the stack holds.
const DEEPEST = 100;

function readList(scan: Scan, end: ')' | undefined): void {
  const awaited = scan.documents.length;
  let depth = 0;
  let draft = draftAt(scan.at);
  const close = () => {
    closeWord(scan, draft);
    const { words, files, documents, from } = draft;
    const text = scan.text.slice(from, scan.at).trim();
    if (words.length + files.length > 0) scan.commands.push({ words, files, documents, text });
    // The bracket behind a pattern of `case` is none that ends the list.
    if (end === ')' && words.some((word) => word.text === 'case')) scan.isWhole = false;
  };
  while (scan.at < scan.text.length) {
    const sign = scan.text[scan.at] ?? '';
    if (sign === end && depth === 0) {
      close();
      scan.at += 1;
      if (scan.documents.length > awaited) scan.isWhole = false;
      return;
    }
    if (/[;&|()\n]/.test(sign) && !scan.text.startsWith('&>', scan.at)) {
      close();
      if (scan.text.startsWith('((', scan.at)) scan.hasNumbers = true;
      if (sign === '(') depth += 1;
      if (sign === ')') depth -= 1;
      scan.at += 1;
      if (sign === '\n' && awaited > 0) scan.isWhole = false;
      if (sign === '\n') skipDocuments(scan);
      draft = draftAt(scan.at);
    } else readSign(scan, draft, sign);
  }
  close();
  if (end !== undefined) scan.isWhole = false;
}

function readSign(scan: Scan, draft: Draft, sign: string): void {
  if (sign === ' ' || sign === '\t' || sign === '\r') {
    closeWord(scan, draft);
    scan.at += 1;
  } else if (sign === '\\' && scan.text[scan.at + 1] === '\n') {
    scan.at += 2;
    // A carriage return is a sign like any other to a shell, which has no remark behind it.
  } else if (sign === '#' && draft.word === undefined && scan.text[scan.at - 1] !== '\r') {
    if (scan.hasNumbers) scan.isWhole = false;
    const line = scan.text.indexOf('\n', scan.at);
    scan.at = line === -1 ? scan.text.length : line;
  } else if (sign === '<' || sign === '>' || sign === '&') readRedirection(scan, draft);
  else readPart(scan, wordOf(draft), sign);
}

function wordOf(draft: Draft): DraftWord {
  draft.word ??= { text: '', isLiteral: true, isQuoted: false };
  return draft.word;
}

function closeWord(scan: Scan, draft: Draft): void {
  const { word, next } = draft;
  if (word === undefined) return;
  draft.word = undefined;
  draft.next = 'word';
  const { text, isLiteral, isQuoted } = word;
  if (next === 'word') draft.words.push({ text, isLiteral });
  else if (next === 'file') draft.files.push({ text, isLiteral });
  else if (next === 'text') draft.documents.push(text);
  else {
    if (scan.hasNumbers || !isLiteral) scan.isWhole = false;
    const isIndented = next === 'indented';
    scan.documents.push({ end: text, into: draft.documents, isIndented, isExpanded: !isQuoted });
  }
}

/** A process in the place of a file (`<(`) is a list of its own, which its bracket begins. */
function readRedirection(scan: Scan, draft: Draft): void {
  // The number of a stream, and no word.
  if (draft.word !== undefined && /^\d+$/.test(draft.word.text)) draft.word = undefined;
  closeWord(scan, draft);
  const [operator = '>'] = /^(?:<<<|<<-?|<>|<&|<|&>>?|>>|>\||>&|>)/.exec(scan.text.slice(scan.at, scan.at + 3)) ?? [];
  scan.at += operator.length;
  // What is put in by `<<<` is read as commands by a shell, and is no word: the program may stand behind it.
  if (operator === '<<<') draft.next = 'text';
  else if (operator === '<<-') draft.next = 'indented';
  else draft.next = operator === '<<' ? 'document' : 'file';
}

function readPart(scan: Scan, word: DraftWord, sign: string): void {
  const { text } = scan;
  scan.at += 1;
  if (/[\\'"]/.test(sign)) word.isQuoted = true;
  switch (sign) {
    case '\\':
      if (text[scan.at] !== '\n') word.text += text[scan.at] ?? '';
      scan.at += 1;
      return;
    case "'": {
      const end = text.indexOf("'", scan.at);
      if (end === -1) scan.isWhole = false;
      word.text += text.slice(scan.at, end === -1 ? undefined : end);
      scan.at = end === -1 ? text.length : end + 1;
      return;
    }
    case '"':
      readQuoted(scan, word);
      return;
    case '$':
      if (text[scan.at] === "'") readEscaped(scan, word);
      else readSubstitution(scan, word, sign);
      return;
    case '`':
      readSubstitution(scan, word, sign);
      return;
    default:
      if (sign === '[' && word.text !== '') scan.hasNumbers = true;
      if (/[*?[{]/.test(sign) && !isPair(text, scan.at - 1)) word.isLiteral = false;
      word.text += sign;
  }
}

/** `{` by itself begins a group, and `{}` is a place that `find` and `xargs` fill. */
function isPair(text: string, at: number): boolean {
  return /^\{(?:\}|\s)/.test(text.slice(at, at + 2));
}

/** `$'…'`, in which a quote may be escaped. */
function readEscaped(scan: Scan, word: DraftWord): void {
  word.isLiteral = false;
  word.isQuoted = true;
  const [all] = /^'(?:[^'\\]|\\[\s\S])*'/.exec(scan.text.slice(scan.at)) ?? [];
  if (all === undefined) scan.isWhole = false;
  // With its `$`: what it is in the end only the shell knows.
  word.text += `$${all ?? ''}`;
  scan.at = all === undefined ? scan.text.length : scan.at + all.length;
}

function readQuoted(scan: Scan, word: DraftWord): void {
  const { text } = scan;
  while (scan.at < text.length) {
    const sign = text[scan.at] ?? '';
    scan.at += 1;
    if (sign === '"') return;
    if (sign === '\\') {
      const next = text[scan.at] ?? '';
      scan.at += 1;
      if (next !== '\n') word.text += /["\\$`]/.test(next) ? next : `\\${next}`;
    } else if (sign === '$' || sign === '`') readSubstitution(scan, word, sign);
    else word.text += sign;
  }
  scan.isWhole = false;
}

/** Behind its first sign. What it starts is started, wherever it stands. */
function readSubstitution(scan: Scan, word: DraftWord, sign: '$' | '`'): void {
  if (scan.depth === DEEPEST) {
    scan.isWhole = false;
    scan.at = scan.text.length;
    return;
  }
  scan.depth += 1;
  readOneSubstitution(scan, word, sign);
  scan.depth -= 1;
}

function readOneSubstitution(scan: Scan, word: DraftWord, sign: '$' | '`'): void {
  word.isLiteral = false;
  word.text += sign;
  if (scan.text[scan.at] === '[') scan.hasNumbers = true;
  if (sign === '`') readTicks(scan);
  else if (scan.text[scan.at] === '(') {
    if (scan.text[scan.at + 1] === '(') scan.hasNumbers = true;
    scan.at += 1;
    readList(scan, ')');
  } else if (scan.text[scan.at] === '{') readBraced(scan, word);
}

/** Their end is looked for first, whatever is quoted in them; then one backslash of each two is gone. */
function readTicks(scan: Scan): void {
  const from = scan.at;
  while (scan.at < scan.text.length && scan.text[scan.at] !== '`') scan.at += scan.text[scan.at] === '\\' ? 2 : 1;
  const inside = scan.text.slice(from, scan.at);
  // Only in quotes it is gone before a quote.
  if (scan.at >= scan.text.length || inside.includes('\\"')) scan.isWhole = false;
  scan.at += 1;
  const { commands, isWhole } = readAt(inside.replaceAll(/\\([\\$`])/g, '$1'), scan.depth);
  for (const each of commands) scan.commands.push(each);
  if (!isWhole) scan.isWhole = false;
}

/** `${…}`: blanks, brackets and `#` are nothing special in it. */
function readBraced(scan: Scan, word: DraftWord): void {
  const { text } = scan;
  while (scan.at < text.length) {
    const sign = text[scan.at] ?? '';
    scan.at += 1;
    if (sign === '}') return;
    // What it is depends on the quotes around, and on the shell.
    if (sign === "'") scan.isWhole = false;
    if (sign === '\\') scan.at += 1;
    else if (sign === '"') readQuoted(scan, word);
    else if (sign === '$' || sign === '`') readSubstitution(scan, word, sign);
    else word.text += sign;
  }
  scan.isWhole = false;
}

/** Behind the end of a line: what the documents that were announced in it say. */
function skipDocuments(scan: Scan): void {
  for (const { end, into, isIndented, isExpanded } of scan.documents) {
    const from = scan.at;
    let line = '';
    let before = from;
    do {
      if (scan.at >= scan.text.length) scan.isWhole = false;
      const next = scan.text.indexOf('\n', scan.at);
      before = scan.at;
      scan.at = next === -1 ? scan.text.length : next + 1;
      line = scan.text.slice(before, next === -1 ? undefined : next);
    } while (scan.isWhole && (isIndented ? line.replace(/^\t+/, '') : line) !== end);
    const body = scan.text.slice(from, before);
    into.push(body);
    if (isExpanded) readExpanded(scan, body);
  }
  scan.documents = [];
}

/** In a document quotes are none, but what is put in is started. */
function readExpanded(scan: Scan, body: string): void {
  const inside = scanOf(body, scan.commands, scan.depth);
  const word = { text: '', isLiteral: true, isQuoted: false };
  while (inside.at < body.length) {
    const sign = body[inside.at] ?? '';
    inside.at += sign === '\\' ? 2 : 1;
    if (sign === '$' || sign === '`') readSubstitution(inside, word, sign);
  }
  if (!inside.isWhole || inside.documents.length > 0) scan.isWhole = false;
}
