import type { ProtectedPlace } from './create-protection.ts';
import { isIn, isNear } from './running-watches.ts';

/** Who may be in a workspace at the same time. */
export interface Turns {
  /**
   * A command that may write protected paths is alone where it may write: undefined when somebody is there already, and
   * others wait until it is over. Returns how to leave; throws when it is aborted.
   */
  enter(place: ProtectedPlace, signal?: AbortSignal): Promise<(() => void) | undefined>;
}

interface Visitor {
  readonly place: ProtectedPlace;
  readonly left: { readonly promise: Promise<void>; resolve(): void };
}

/**
 * SECURITY: T-15, T-44 — who wrote a path is not known. Beside a command that may write it, one that may not could write it
 * and be believed. It does not wait for those that it finds, for they may run all day.
 */
export function createTurns(): Turns {
  const inside = new Set<Visitor>();
  const beside = (place: ProtectedPlace) => [...inside].filter((other) => isNearPlace(other.place, place));
  return {
    async enter(place, signal) {
      signal?.throwIfAborted();
      if (isPrivileged(place) && beside(place).length > 0) return undefined;
      const first = () => beside(place).find((other) => isPrivileged(other.place));
      for (let other = first(); other !== undefined; other = first()) await orAborted(other.left.promise, signal);
      const own: Visitor = { place, left: Promise.withResolvers<void>() };
      inside.add(own);
      return () => {
        inside.delete(own);
        own.left.resolve();
      };
    },
  };
}

function isPrivileged({ roots, lifted }: ProtectedPlace): boolean {
  return lifted.some((path) => isIn(path, roots) || roots.some((root) => isIn(root, [path])));
}

function isNearPlace(one: ProtectedPlace, other: ProtectedPlace): boolean {
  return one.roots.some((root) => isNear(root, other.roots));
}

/** Throws when it is aborted, before or while it waits. */
export async function orAborted(promise: Promise<unknown>, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  const aborted = Promise.withResolvers<void>();
  const abort = () => aborted.resolve();
  signal?.addEventListener('abort', abort, { once: true });
  await Promise.race([promise, aborted.promise]);
  signal?.removeEventListener('abort', abort);
  signal?.throwIfAborted();
}
