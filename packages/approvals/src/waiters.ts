import type { Answer } from './answer.ts';
import type { Asked } from './asked.ts';

/** Kept small: there may be ten thousand. */
export interface Waiter {
  readonly asked: Asked;
  readonly since: number;
  readonly parkAt: number;
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

/** Who waits in this process, by card. */
export interface Waiters {
  readonly size: number;
  add(waiter: Waiter): void;
  /** False when it is gone already, and was told. */
  remove(waiter: Waiter): boolean;
  of(id: string): readonly Waiter[];
  ids(): Iterable<string>;
  all(): Iterable<Waiter>;
}

export function createWaiters(): Waiters {
  // A card has one waiter, mostly, and a set for one would cost more than the waiter.
  const cards = new Map<string, Waiter | Set<Waiter>>();
  let size = 0;

  const of = (id: string): readonly Waiter[] => {
    const found = cards.get(id);
    if (found === undefined) return [];
    return found instanceof Set ? Array.from(found) : [found];
  };

  return {
    get size() {
      return size;
    },
    add(waiter) {
      const { approvalId } = waiter.asked;
      const found = cards.get(approvalId);
      if (found === undefined) cards.set(approvalId, waiter);
      else if (found instanceof Set) found.add(waiter);
      else cards.set(approvalId, new Set([found, waiter]));
      size += 1;
    },
    remove(waiter) {
      const { approvalId } = waiter.asked;
      const found = cards.get(approvalId);
      const isHere = found instanceof Set ? found.delete(waiter) : found === waiter;
      if (!isHere) return false;
      if (!(found instanceof Set) || found.size === 0) cards.delete(approvalId);
      size -= 1;
      return true;
    },
    of,
    ids: () => cards.keys(),
    *all() {
      for (const found of cards.values()) {
        if (found instanceof Set) yield* found;
        else yield found;
      }
    },
  };
}

/** When its waiting is over without an answer. */
export function dueAt({ asked, parkAt }: Waiter): number {
  return Math.min(asked.expiresAt, parkAt);
}
