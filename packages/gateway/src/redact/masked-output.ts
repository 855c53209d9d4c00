/** Bytes in, the same bytes out with some stretches replaced. Offsets count from the first byte ever pushed. */
export interface MaskedOutput {
  /** All bytes that are not yet out, after `push`, and a few before them; `bytes[i]` is the byte at `base() + i`. */
  bytes(): Uint8Array;
  base(): number;
  /** The first offset that is not yet out. */
  cursor(): number;
  /** How many bytes were pushed in all. */
  total(): number;
  push(chunk: Uint8Array): void;
  /** Hides a stretch. Stretches that overlap become one, which names every part that no other part contains. */
  hide(from: number, to: number, name: string): void;
  /** Hides from here until `closeAt` says where it ends; the bytes in between are not kept. */
  hideOpen(from: number, name: string): void;
  closeAt(to: number): void;
  /** What is before `upTo` and settled: nothing may be hidden there any more. May share memory with what was pushed. */
  release(upTo: number): Uint8Array;
}

export interface MaskedOutputOptions {
  /** What stands in place of a hidden stretch. */
  readonly mask: (names: readonly string[]) => string;
  /** How many bytes that are already out stay readable. */
  readonly lookBehind: number;
}

interface Stretch {
  readonly from: number;
  to: number;
  readonly names: readonly string[];
}

export function createMaskedOutput({ mask, lookBehind }: MaskedOutputOptions): MaskedOutput {
  let bytes: Uint8Array = new Uint8Array(0);
  let base = 0;
  let cursor = 0;
  let stretches: Stretch[] = [];

  const hide = (from: number, to: number, name: string): void => {
    const newest = stretches.at(-1);
    // A secret that repeats itself overlaps itself with every byte; this is `merged` for that case.
    if (newest !== undefined && newest.from <= from && newest.to > from && newest.names.includes(name)) {
      newest.to = Math.max(newest.to, to);
      return;
    }
    let at = stretches.length;
    while (at > 0 && (stretches[at - 1] as Stretch).to > from) at -= 1;
    let end = at;
    while (end < stretches.length && (stretches[end] as Stretch).from < to) end += 1;
    stretches.splice(at, end - at, ...merged(stretches.slice(at, end), { from, to, names: [name] }));
  };

  return {
    bytes: () => bytes,
    base: () => base,
    cursor: () => cursor,
    total: () => base + bytes.length,
    push(chunk) {
      bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk]);
    },
    hide,
    hideOpen: (from, name) => hide(from, Number.POSITIVE_INFINITY, name),
    closeAt(to) {
      const last = stretches.at(-1);
      if (last !== undefined) last.to = to;
    },
    release(upTo) {
      const pieces: Uint8Array[] = [];
      const emit = (to: number): void => {
        if (to > cursor) pieces.push(bytes.subarray(cursor - base, to - base));
      };
      let done = 0;
      for (const { from, to, names } of stretches) {
        if (from >= upTo) break;
        emit(from);
        cursor = Math.min(to, upTo);
        // It may still grow; what it hides is dropped all the same, or endless repetition would fill the memory.
        if (to > upTo) break;
        pieces.push(Buffer.from(mask(names)));
        done += 1;
      }
      stretches = done === 0 ? stretches : stretches.slice(done);
      emit(upTo);
      cursor = Math.max(cursor, upTo);
      const keepFrom = Math.max(base, cursor - lookBehind);
      // A copy: a view would keep the whole chunk in memory, and change with it.
      bytes = new Uint8Array(bytes.subarray(keepFrom - base));
      base = keepFrom;
      return pieces.length === 1 ? (pieces[0] as Uint8Array) : Buffer.concat(pieces);
    },
  };
}

function merged(old: readonly Stretch[], added: Stretch): Stretch[] {
  const first = old[0];
  const last = old.at(-1);
  if (first === undefined || last === undefined) return [added];
  const around = old.find(({ from, to }) => from <= added.from && to >= added.to);
  if (around !== undefined) return [...old];
  const sticksOut = old.filter(({ from, to }) => from < added.from || to > added.to);
  return [
    {
      from: Math.min(first.from, added.from),
      to: Math.max(last.to, added.to),
      names: [...new Set([...sticksOut.flatMap(({ names }) => names), ...added.names])],
    },
  ];
}
