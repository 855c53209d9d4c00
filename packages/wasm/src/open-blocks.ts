/** The blocks that are open at some place of a body, outermost first, in columns. */
export interface OpenBlocks {
  readonly kind: Uint8Array;
  /** Where the block's instructions begin. */
  readonly start: Int32Array;
  /** Values on the stack below the block's parameters. */
  readonly height: Int32Array;
  readonly params: Int32Array;
  readonly results: Int32Array;
  /** Who paid when the block was entered, and pays again when it is left. */
  readonly payer: Int32Array;
  /** Whether the block itself can never be entered. */
  readonly dead: Uint8Array;
  /** Index of the innermost. */
  top: number;
}

export const PLAIN = 0;
export const LOOP = 1;

export function createOpenBlocks(most: number): OpenBlocks {
  const column = () => new Int32Array(most + 1);
  return {
    kind: new Uint8Array(most + 1),
    start: column(),
    height: column(),
    params: column(),
    results: column(),
    payer: column(),
    dead: new Uint8Array(most + 1),
    top: -1,
  };
}
