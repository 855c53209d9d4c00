/** A pattern over paths with `/`: `*` and `?` within a name, `**` across names, `[a-z]`, `{a,b}`. */
export type Glob = (path: string) => boolean;

const MAX_ALTERNATIVES = 64;

/** Undefined when the pattern is malformed. Matching takes at most pattern length times path length. */
export function compileGlob(pattern: string): Glob | undefined {
  const alternatives = expandBraces(pattern);
  if (alternatives === undefined) return undefined;
  const whole = alternatives.flatMap((each): readonly Alternative[] => {
    const names = each.split('/').map(compileName);
    return names.every((name) => name !== undefined) ? [{ mayEnd: endOf(each), names }] : [];
  });
  if (whole.length < alternatives.length) return undefined;
  return (path) => whole.some((each) => each.mayEnd(path) && matchNames(each.names, path.split('/')));
}

interface Alternative {
  /** False: no such path matches. Nearly all fail here, and each call of an agent is held against all patterns there are. */
  mayEnd(path: string): boolean;
  readonly names: readonly NamePattern[];
}

/** What stands after the last character that could be anything else. */
function endOf(pattern: string): Alternative['mayEnd'] {
  const [plain = ''] = /[^*?[\]\\/]*$/.exec(pattern) ?? [];
  return (path) => path.endsWith(plain);
}

type NamePattern = 'any_depth' | readonly Token[];
type Token = 'any' | 'one' | ((character: string) => boolean);

function expandBraces(pattern: string): readonly string[] | undefined {
  const found = /^((?:[^\\{]|\\.)*)\{((?:[^\\{}]|\\.)*)\}(.*)$/s.exec(pattern);
  if (found === null) return [pattern];
  const [, head = '', choices = '', tail = ''] = found;
  const tails = expandBraces(tail);
  if (tails === undefined) return undefined;
  const all = choices.split(',').flatMap((choice) => tails.map((each) => `${head}${choice}${each}`));
  return all.length > MAX_ALTERNATIVES ? undefined : all;
}

function compileName(name: string): NamePattern | undefined {
  if (name === '**') return 'any_depth';
  const tokens: Token[] = [];
  const characters = Array.from(name);
  for (let at = 0; at < characters.length; at += 1) {
    const character = characters[at] ?? '';
    if (character === '*') {
      if (tokens.at(-1) !== 'any') tokens.push('any');
    } else if (character === '?') tokens.push('one');
    else if (character === '[') {
      const end = characters.indexOf(']', at + (/[!^]/.test(characters[at + 1] ?? '') ? 3 : 2));
      if (end < 0) return undefined;
      tokens.push(compileClass(characters.slice(at + 1, end)));
      at = end;
    } else {
      if (character === '\\') at += 1;
      const literal = character === '\\' ? characters[at] : character;
      if (literal === undefined) return undefined;
      tokens.push((each) => each === literal);
    }
  }
  return tokens;
}

function compileClass(characters: readonly string[]): (character: string) => boolean {
  const isNegated = characters[0] === '!' || characters[0] === '^';
  const members = isNegated ? characters.slice(1) : characters;
  const ranges: (readonly [string, string])[] = [];
  for (let at = 0; at < members.length; at += 1) {
    const from = members[at] ?? '';
    const to = members[at + 1] === '-' ? members[at + 2] : undefined;
    ranges.push([from, to ?? from]);
    if (to !== undefined) at += 2;
  }
  return (character) => ranges.some(([from, to]) => from <= character && character <= to) !== isNegated;
}

/** `reach[j]`: the patterns so far match the first j names. No pattern makes it go back. */
function matchNames(patterns: readonly NamePattern[], names: readonly string[]): boolean {
  let reach = [true, ...names.map(() => false)];
  for (const pattern of patterns) {
    const next = reach.map(() => false);
    if (pattern === 'any_depth') {
      let reached = false;
      for (const [at, isReached] of reach.entries()) {
        reached ||= isReached;
        next[at] = reached;
      }
    } else {
      for (const [at, name] of names.entries()) {
        if (reach[at] === true) next[at + 1] = matchName(pattern, Array.from(name));
      }
    }
    reach = next;
  }
  return reach.at(-1) === true;
}

/** Only the last `*` can need to take more, so there is one place to go back to. */
function matchName(tokens: readonly Token[], characters: readonly string[]): boolean {
  let [at, token, starAt, starToken] = [0, 0, -1, -1];
  while (at < characters.length) {
    const current = tokens[token];
    const character = characters[at] ?? '';
    if (current === 'any') {
      starToken = token;
      starAt = at;
      token += 1;
    } else if (current === 'one' || (typeof current === 'function' && current(character))) {
      at += 1;
      token += 1;
    } else if (starToken >= 0) {
      starAt += 1;
      at = starAt;
      token = starToken + 1;
    } else return false;
  }
  return tokens.slice(token).every((each) => each === 'any');
}
