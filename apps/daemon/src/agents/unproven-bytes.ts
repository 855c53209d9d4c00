/** What is held for those who have not shown yet that they have the key. */
export interface UnprovenBytes {
  readonly held: number;
  open(): UnprovenShare;
}

export interface UnprovenShare {
  /** False: it is too much, for this one or for all together, and nothing was taken. */
  take(bytes: number): boolean;
  /** It is proven, or gone. */
  close(): void;
}

export interface UnprovenLimits {
  readonly mostBytes: number;
  readonly mostOpen: number;
}

export function countUnproven({ mostBytes, mostOpen }: UnprovenLimits): UnprovenBytes {
  let held = 0;
  let open = 0;
  return {
    get held() {
      return held;
    },
    open() {
      open += 1;
      const isTooMany = open > mostOpen;
      let own = 0;
      let isClosed = false;
      return {
        take(bytes) {
          if (isTooMany || isClosed || held + bytes > mostBytes) return false;
          held += bytes;
          own += bytes;
          return true;
        },
        close() {
          if (isClosed) return;
          isClosed = true;
          open -= 1;
          held -= own;
        },
      };
    },
  };
}
