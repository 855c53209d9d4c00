/**
 * What is told of a run is numbered: by the process that tells it, counting those that opened the run, and then by order. So
 * numbers only grow within a run, none is given twice, and nothing but the count of processes has to be written down.
 */
const PER_GENERATION = 2 ** 32;

/** Before it there is room for calls that were settled when their process was gone. */
const FIRST_LIVE = 2 ** 16;

/** A result and its attestation, which is told next. */
const PLACES_OF_A_CALL = 2;

/** The first number that a process gives. */
export function firstNumber(generation: number): number {
  return generation * PER_GENERATION + FIRST_LIVE;
}

/** Higher than all that the process has given. */
export function lastNumber(generation: number): number {
  return (generation + 1) * PER_GENERATION - 1;
}

/** For the result of a call that was interrupted: after all that its process told, before what the next one tells. */
export function settledPlace(generation: number, at: number): number | null {
  const place = (generation + 1) * PER_GENERATION + at * PLACES_OF_A_CALL;
  return place + PLACES_OF_A_CALL < firstNumber(generation + 1) ? place : null;
}
