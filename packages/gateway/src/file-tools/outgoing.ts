/** What is sent to a process that runs in the sandbox, piece by piece, for as long as it does. */
export interface Outgoing {
  readonly source: AsyncIterable<Uint8Array>;
  send(piece: Uint8Array): void;
  end(): void;
  /** What waits, and everything from now on, goes there instead. */
  pass(write: (piece: Uint8Array) => void): void;
}

export function createOutgoing(): Outgoing {
  const waiting: Uint8Array[] = [];
  let isOver = false;
  let direct: ((piece: Uint8Array) => void) | undefined;
  let wake: (() => void) | undefined;
  const changed = () => {
    wake?.();
    wake = undefined;
  };
  async function* source(): AsyncGenerator<Uint8Array> {
    while (!isOver) {
      // What came meanwhile goes together: one message to the launcher, one write to the pipe.
      const pieces = waiting.splice(0);
      if (pieces.length > 0) yield pieces.length === 1 ? (pieces[0] as Uint8Array) : Buffer.concat(pieces);
      else await new Promise<void>((resolve) => (wake = resolve));
    }
  }
  return {
    source: source(),
    pass(write) {
      direct = write;
      for (const piece of waiting.splice(0)) write(piece);
    },
    send(piece) {
      if (direct !== undefined) {
        direct(piece);
        return;
      }
      waiting.push(piece);
      changed();
    },
    end() {
      isOver = true;
      changed();
    },
  };
}
