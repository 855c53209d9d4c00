import type { ConfigEntry } from './git-config.ts';
import type { JudgeContext } from './judge-entry.ts';
import { movedKeys } from './led-to.ts';
import type { Entry } from './read-entries.ts';
import type { Scan } from './scan-tree.ts';

/** Whether what is in one place was in another. Found by name, for a tool can make as many as it likes. */
export interface KnownEntries {
  /** As a checkout of the same commit in a second worktree brings it: the operator has these bytes under this name. */
  isCopy(is: Entry): boolean;
  /** Its repository was renamed. */
  isMoved(is: Entry): boolean;
  isMovedConfig(keys: readonly ConfigEntry[]): boolean;
  /** Of what was there before. */
  isElsewhere(was: Entry): boolean;
  /** Whether there is the same at that path now. */
  isSame(was: Entry, path: string): boolean;
}

export function* indexEntries({
  before,
  after,
  ...context
}: JudgeContext & { readonly before: Scan; readonly after: Scan }): Generator<undefined, KnownEntries> {
  const were = byName(before);
  const are = byName(after);
  const moved = yield* movedKeys(before, after, context);
  const wereLike = (is: Entry) => (were.get(is.within) ?? []).filter((was) => was.rule === is.rule);
  return {
    isCopy: (is) => wereLike(is).some((was) => isSameContent(was, is)),
    isMoved: (is) => wereLike(is).some((was) => !after.entries.has(was.path) && isSameContent(was, is)),
    isMovedConfig: (keys) => moved.has(JSON.stringify(keys)),
    isSame: (was, path) => {
      const is = after.entries.get(path);
      return is !== undefined && isSameContent(was, is);
    },
    isElsewhere: (was) => (are.get(was.within) ?? []).some((is) => isSameContent(was, is)),
  };
}

function byName({ entries }: Scan): ReadonlyMap<string, readonly Entry[]> {
  return Map.groupBy(entries.values(), ({ within }) => within);
}

function isSameContent(was: Entry, is: Entry): boolean {
  if (was.kind !== is.kind || was.within !== is.within || is.links > 1) return false;
  if (is.kind === 'link') return was.target === is.target;
  return was.mode === is.mode && was.bytes !== undefined && is.bytes !== undefined && was.bytes.equals(is.bytes);
}
