import { type Comparison, comparing } from './compare.ts';

/** For those who wait for nothing else: tests and vectors. */
export function compareAtOnce(...facts: Parameters<typeof comparing>): Comparison {
  const parts = comparing(...facts);
  let part = parts.next();
  while (part.done !== true) part = parts.next();
  return part.value;
}
