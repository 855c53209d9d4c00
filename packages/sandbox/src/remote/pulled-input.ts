/** Input that somebody else has: each piece is asked for when the tool has room for it. */
export interface PulledInput {
  readonly source: AsyncIterable<Uint8Array>;
  give(bytes: Uint8Array): void;
  end(): void;
  /** What the tool should have read is not to be had. */
  fail(): void;
}

type Piece =
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | { readonly kind: 'end' }
  | { readonly kind: 'failed' };

export function createPulledInput(want: () => void): PulledInput {
  let deliver: ((piece: Piece) => void) | undefined;
  const next = () =>
    new Promise<Piece>((resolve) => {
      deliver = resolve;
      want();
    });
  async function* source(): AsyncGenerator<Uint8Array> {
    for (let piece = await next(); piece.kind !== 'end'; piece = await next()) {
      if (piece.kind === 'failed') throw new Error('The input failed.');
      yield piece.bytes;
    }
  }
  return {
    source: source(),
    give: (bytes) => deliver?.({ kind: 'bytes', bytes }),
    end: () => deliver?.({ kind: 'end' }),
    fail: () => deliver?.({ kind: 'failed' }),
  };
}
