/** `string` is a quoted string or a template without substitutions; its `text` is the value, escapes left as written. */
export interface Token {
  readonly kind: 'word' | 'string' | 'mark';
  readonly text: string;
  readonly line: number;
}

/** After these words a slash begins a regular expression; after any other it divides. */
const BEFORE_REGEX = new Set(
  'return typeof case in of delete void throw new else do instanceof yield await import export default'.split(' '),
);

const WORD = /[\p{ID_Start}$_#@][\p{ID_Continue}$\u200c\u200d]*/uy;
const NUMBER = /\d[\w.]*/y;
const SPACE = /\s+/y;
const LINE_COMMENT = /(?:\/\/|^#!)[^\n]*/y;
const BLOCK_COMMENT = /\/\*.*?(?:\*\/|$)/sy;
// Neither can span lines, so a mistake made before it ends with its line.
const STRING = /'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"/sy;
const REGEX = /\/(?![*/])(?:[^\\/[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/\w*/y;
const TEMPLATE_PART = /(?:[^`\\$]|\\.|\$(?!\{))*/sy;

/**
 * Splits TypeScript or JavaScript into words, strings and marks, leaving out comments, regular expressions and numbers.
 * Not a parser: it knows just enough never to take the inside of a comment, string, template or regular expression for code.
 */
export function tokenize(source: string): Token[] {
  const tokenizer = new Tokenizer(source);
  return tokenizer.tokens();
}

/** What stands before a slash decides whether it divides; of values that are not kept as tokens only that there was one. */
type Previous = Token | 'value' | undefined;

class Tokenizer {
  readonly #source: string;
  readonly #tokens: Token[] = [];
  /** One entry for each template we are inside of: how many braces are open in its current substitution. */
  readonly #substitutions: number[] = [];
  #position = 0;
  #line = 1;
  #previous: Previous;

  constructor(source: string) {
    this.#source = source;
  }

  tokens(): Token[] {
    while (this.#position < this.#source.length) {
      if (!(this.#blank() || this.#word() || this.#value())) this.#mark();
    }
    return this.#tokens;
  }

  #blank(): boolean {
    return (this.#match(SPACE) ?? this.#match(LINE_COMMENT) ?? this.#match(BLOCK_COMMENT)) !== undefined;
  }

  #word(): boolean {
    const line = this.#line;
    const word = this.#match(WORD);
    if (word !== undefined) this.#push({ kind: 'word', text: word[0], line });
    return word !== undefined;
  }

  #value(): boolean {
    const line = this.#line;
    const quoted = this.#match(STRING);
    if (quoted !== undefined) {
      this.#push({ kind: 'string', text: quoted[1] ?? quoted[2] ?? '', line });
      return true;
    }
    const unkept = this.#match(NUMBER) ?? (mayBeRegex(this.#previous) ? this.#match(REGEX) : undefined);
    if (unkept !== undefined) this.#previous = 'value';
    return unkept !== undefined;
  }

  #mark(): void {
    const text = this.#source[this.#position] ?? '';
    this.#position += 1;
    if (text === '`') this.#template({ isStart: true });
    else if (text === '}' && this.#substitutions.at(-1) === 0) {
      this.#substitutions.pop();
      this.#template({ isStart: false });
    } else {
      this.#countBrace(text);
      this.#push({ kind: 'mark', text, line: this.#line });
    }
  }

  /** From behind a backtick or a substitution's closing brace to the next substitution or the end. */
  #template({ isStart }: { readonly isStart: boolean }): void {
    const line = this.#line;
    const text = this.#match(TEMPLATE_PART)?.[0] ?? '';
    const opensSubstitution = this.#source[this.#position] === '$';
    this.#position += opensSubstitution ? 2 : 1;
    if (opensSubstitution) {
      this.#substitutions.push(0);
      this.#previous = undefined;
    } else this.#push(isStart ? { kind: 'string', text, line } : { kind: 'mark', text: '`', line });
  }

  #countBrace(text: string): void {
    const depth = this.#substitutions.at(-1);
    const change = { '{': 1, '}': -1 }[text];
    if (depth !== undefined && change !== undefined) this.#substitutions.splice(-1, 1, depth + change);
  }

  #match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#position;
    const found = pattern.exec(this.#source);
    if (found === null) return undefined;
    this.#position = pattern.lastIndex;
    this.#line += found[0].split('\n').length - 1;
    return found;
  }

  #push(token: Token): void {
    this.#previous = token;
    this.#tokens.push(token);
  }
}

/** Behind a value a slash divides: behind a name, number, string or closing bracket. `if (x) /re/` is taken for a division. */
function mayBeRegex(previous: Previous): boolean {
  if (previous === undefined) return true;
  if (previous === 'value') return false;
  if (previous.kind === 'word') return BEFORE_REGEX.has(previous.text);
  return previous.kind === 'mark' && !')]}`'.includes(previous.text);
}
