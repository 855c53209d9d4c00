/** One text to look for. `label` is given back when it is found. */
export interface BytePattern {
  readonly bytes: Uint8Array;
  readonly label: number;
  /** Bytes that may become this pattern are held back. Off where the pattern itself is not what gets hidden. */
  readonly holds: boolean;
}

/**
 * All patterns in one automaton (Aho and Corasick): every byte is looked at once, however many patterns there are and
 * whatever the text is. States are numbers, 0 is the beginning; the tables are open because `step` runs for every byte.
 */
export interface ByteMatcher {
  /** Length of the longest pattern. */
  readonly longest: number;
  /** States below this number have a row of 256 successors; others at most one child, and their failure state knows. */
  readonly rows: number;
  readonly successors: Int32Array;
  readonly only: Int16Array;
  readonly child: Int32Array;
  readonly fail: Int32Array;
  /** Length and label of the longest pattern that ends here; a length of 0 says none does. */
  readonly length: Int32Array;
  readonly label: Int32Array;
  /** How many of the last bytes could still become a pattern that holds, and the label of one they could become. */
  readonly held: Int32Array;
  readonly heldLabel: Int32Array;
}

export function createByteMatcher(patterns: readonly BytePattern[]): ByteMatcher {
  const trie = growTrie(patterns);
  const { numbers, rows } = numberStates(trie);
  const matcher: ByteMatcher = {
    longest: patterns.reduce((longest, { bytes }) => Math.max(longest, bytes.length), 0),
    rows,
    successors: new Int32Array(rows * 256),
    only: new Int16Array(trie.size).fill(-1),
    child: new Int32Array(trie.size),
    fail: new Int32Array(trie.size),
    length: new Int32Array(trie.size),
    label: new Int32Array(trie.size).fill(-1),
    held: new Int32Array(trie.size),
    heldLabel: new Int32Array(trie.size).fill(-1),
  };
  linkStates(trie, numbers, matcher);
  return matcher;
}

/** The state after one more byte. Amortised constant: every failure undoes a step that an earlier byte made. */
export function step(matcher: ByteMatcher, from: number, byte: number): number {
  let state = from;
  for (;;) {
    if (state < matcher.rows) return matcher.successors[(state << 8) | byte] as number;
    if (matcher.only[state] === byte) return matcher.child[state] as number;
    state = matcher.fail[state] as number;
  }
}

/** The tables spell the patterns out, and patterns may be secrets. */
export function wipeMatcher(matcher: ByteMatcher): void {
  for (const table of [matcher.successors, matcher.only, matcher.child, matcher.fail]) table.fill(0);
}

interface Trie {
  size: number;
  readonly depth: Int32Array;
  readonly byte: Uint8Array;
  readonly firstChild: Int32Array;
  readonly sibling: Int32Array;
  readonly length: Int32Array;
  readonly label: Int32Array;
  /** The label of a pattern that holds and goes on from here; -1 without one. */
  readonly through: Int32Array;
}

function growTrie(patterns: readonly BytePattern[]): Trie {
  const most = patterns.reduce((sum, { bytes }) => sum + bytes.length, 1);
  const trie: Trie = {
    size: 1,
    depth: new Int32Array(most),
    byte: new Uint8Array(most),
    firstChild: new Int32Array(most),
    sibling: new Int32Array(most),
    length: new Int32Array(most),
    label: new Int32Array(most),
    through: new Int32Array(most).fill(-1),
  };
  for (const pattern of patterns) addPattern(trie, pattern);
  return trie;
}

function addPattern(trie: Trie, { bytes, label, holds }: BytePattern): void {
  if (bytes.length === 0) return;
  let state = 0;
  for (const byte of bytes) {
    if (holds && trie.through[state] === -1) trie.through[state] = label;
    state = childOf(trie, state, byte) || addChild(trie, state, byte);
  }
  trie.length[state] = bytes.length;
  trie.label[state] = label;
}

function childOf(trie: Trie, state: number, byte: number): number {
  let child = trie.firstChild[state] as number;
  while (child !== 0 && trie.byte[child] !== byte) child = trie.sibling[child] as number;
  return child;
}

function addChild(trie: Trie, state: number, byte: number): number {
  const child = trie.size;
  trie.size += 1;
  trie.byte[child] = byte;
  trie.depth[child] = (trie.depth[state] as number) + 1;
  trie.sibling[child] = trie.firstChild[state] as number;
  trie.firstChild[state] = child;
  return child;
}

/** So few that their rows fit the processor's cache; nearly all bytes of ordinary text meet only these. */
const MOST_ROWS_OF_DEPTH_TWO = 2048;

/** Numbers for the trie's nodes. Those with a row come first: where paths part, and the first few on every path. */
function numberStates(trie: Trie): { readonly numbers: Int32Array; readonly rows: number } {
  const all = Array.from({ length: trie.size }, (_, node) => node);
  const atTwo = all.filter((node) => trie.depth[node] === 2).length;
  const shallow = atTwo <= MOST_ROWS_OF_DEPTH_TWO ? 2 : 1;
  const hasRow = (node: number): boolean => {
    const first = trie.firstChild[node] as number;
    return (trie.depth[node] as number) <= shallow || (first !== 0 && trie.sibling[first] !== 0);
  };
  const withRow = all.filter(hasRow);
  const numbers = new Int32Array(trie.size);
  const ordered = [...withRow, ...all.filter((node) => !hasRow(node))];
  for (const [number, node] of ordered.entries()) numbers[node] = number;
  return { numbers, rows: withRow.length };
}

/** Breadth first, so that the failure state, which is less deep, is always complete. */
function linkStates(trie: Trie, numbers: Int32Array, matcher: ByteMatcher): void {
  const queue = new Int32Array(trie.size);
  let end = 1;
  for (let at = 0; at < end; at += 1) {
    const node = queue[at] as number;
    const state = numbers[node] as number;
    const fail = matcher.fail[state] as number;
    describeState(trie, node, { matcher, state, fail });
    // The failure's successors first, then the children over them.
    if (state !== 0 && state < matcher.rows) {
      for (let byte = 0; byte < 256; byte += 1) matcher.successors[(state << 8) | byte] = step(matcher, fail, byte);
    }
    for (let next = trie.firstChild[node] as number; next !== 0; next = trie.sibling[next] as number) {
      const byte = trie.byte[next] as number;
      const child = numbers[next] as number;
      matcher.fail[child] = state === 0 ? 0 : step(matcher, fail, byte);
      if (state < matcher.rows) matcher.successors[(state << 8) | byte] = child;
      else [matcher.only[state], matcher.child[state]] = [byte, child];
      queue[end] = next;
      end += 1;
    }
  }
}

interface Linked {
  readonly matcher: ByteMatcher;
  readonly state: number;
  readonly fail: number;
}

function describeState(trie: Trie, node: number, { matcher, state, fail }: Linked): void {
  const ends = trie.length[node] !== 0;
  matcher.length[state] = (ends ? trie.length[node] : matcher.length[fail]) as number;
  matcher.label[state] = (ends ? trie.label[node] : matcher.label[fail]) as number;
  const goesOn = trie.through[node] !== -1;
  matcher.held[state] = (goesOn ? trie.depth[node] : matcher.held[fail]) as number;
  matcher.heldLabel[state] = (goesOn ? trie.through[node] : matcher.heldLabel[fail]) as number;
}
