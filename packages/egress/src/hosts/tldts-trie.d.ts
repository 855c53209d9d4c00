/** The list itself, which tldts reads and does not show: labels from the right, a node for each suffix and for each part of one. */
declare module 'tldts/dist/cjs/src/data/trie.js' {
  const trie: {
    readonly edgeStart: ArrayLike<number>;
    readonly edgeLength: ArrayLike<number>;
    readonly edgeChild: ArrayLike<number>;
    /** The labels of all edges, one behind the other. */
    readonly labelText: string;
    readonly rulesRoot: number;
  };
  export default trie;
}
