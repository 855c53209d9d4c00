/** Lets work through as long as the bytes under way are within a limit; the rest waits in order. */
export interface ByteGate {
  /** Work over the limit passes too, when nothing else is under way. Throws what `work` throws. */
  pass<Result>(bytes: number, work: () => Promise<Result>): Promise<Result>;
}

interface Waiter {
  readonly bytes: number;
  enter(): void;
}

/** Stands before what would otherwise pile up in memory: whoever produces faster than the disk takes it has to wait. */
export function createByteGate(limit: number): ByteGate {
  const waiting: Waiter[] = [];
  let underWay = 0;

  const fits = (bytes: number) => underWay === 0 || underWay + bytes <= limit;
  /** Undefined: it is in already. */
  const enter = (bytes: number): Promise<void> | undefined => {
    // Behind those that wait, even where it would fit: a stream of small work must not hold up a large one for good.
    if (waiting.length === 0 && fits(bytes)) {
      underWay += bytes;
      return undefined;
    }
    // Whoever leaves counts it as under way before it wakes, so nobody slips in between.
    return new Promise<void>((resolve) => waiting.push({ bytes, enter: resolve }));
  };
  const leave = (bytes: number) => {
    underWay -= bytes;
    for (let next = waiting[0]; next !== undefined && fits(next.bytes); next = waiting[0]) {
      waiting.shift();
      underWay += next.bytes;
      next.enter();
    }
  };

  return {
    async pass(bytes, work) {
      if (!Number.isSafeInteger(bytes) || bytes < 0) throw new RangeError(`Not a number of bytes: ${bytes}.`);
      const entered = enter(bytes);
      // Nearly always there is room, and no turn to wait for.
      if (entered !== undefined) await entered;
      try {
        return await work();
      } finally {
        leave(bytes);
      }
    },
  };
}
