import { getPublicSuffix } from 'tldts';
// Not part of its interface: the version is pinned, and a test holds us to what is in it.
import trie from 'tldts/dist/cjs/src/data/trie.js';

/**
 * SECURITY: T-51 — whether strangers can have a name under this one: it is a public suffix (those of registries, and those of
 * hosting companies, which the list has in a section of its own), or one lies below it, as `s3.amazonaws.com` does.
 */
export function isSharedSuffix(name: string): boolean {
  return getPublicSuffix(name, { allowPrivateDomains: true }) === name || hasSuffixBelow(name);
}

function hasSuffixBelow(name: string): boolean {
  let node = trie.rulesRoot;
  for (const label of name.split('.').toReversed()) {
    const edge = edgesOf(node).find((each) => labelOf(each) === label);
    if (edge === undefined) return false;
    node = trie.edgeChild[edge] ?? 0;
  }
  return edgesOf(node).length > 0;
}

function edgesOf(node: number): readonly number[] {
  const first = trie.edgeStart[node] ?? 0;
  return Array.from({ length: (trie.edgeStart[node + 1] ?? first) - first }, (_edge, at) => first + at);
}

let offsets: Uint32Array | undefined;

function labelOf(edge: number): string {
  offsets ??= startsOf(trie.edgeLength);
  const start = offsets[edge] ?? 0;
  return trie.labelText.slice(start, start + (trie.edgeLength[edge] ?? 0));
}

function startsOf(lengths: ArrayLike<number>): Uint32Array {
  const starts = new Uint32Array(lengths.length);
  for (let at = 1; at < lengths.length; at += 1) starts[at] = (starts[at - 1] ?? 0) + (lengths[at - 1] ?? 0);
  return starts;
}
