/** A piece of what a command puts out. */
export interface OutputPiece {
  readonly stream: 'stdout' | 'stderr';
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** From a command to the one who came for it: a piece is taken before the next one is let in. */
export interface OutputChannel {
  /** Resolves when it was taken, or when nobody takes anything any more. */
  push(piece: OutputPiece): Promise<void>;
  /** Nothing more comes, or nobody listens. */
  close(): void;
  pieces(): AsyncGenerator<OutputPiece, void, undefined>;
}

export function createOutputChannel(): OutputChannel {
  const waiting: { readonly piece: OutputPiece; taken(): void }[] = [];
  let isClosed = false;
  let ring = Promise.withResolvers<void>();
  return {
    push(piece) {
      if (isClosed) return Promise.resolve();
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.push({ piece, taken: resolve });
      ring.resolve();
      return promise;
    },
    close() {
      isClosed = true;
      ring.resolve();
    },
    async *pieces() {
      try {
        for (;;) {
          const next = waiting.shift();
          if (next !== undefined) {
            next.taken();
            yield next.piece;
          } else if (isClosed) {
            return;
          } else {
            ring = Promise.withResolvers();
            await ring.promise;
          }
        }
      } finally {
        isClosed = true;
        for (const { taken } of waiting.splice(0)) taken();
      }
    },
  };
}
