import { bytesOf, WORD } from './shape-bytes.ts';
import type { ShapePart, ShapeRun, TokenShape } from './token-shapes.ts';

/** A shape taken apart into runs: a text is a run of one for each of its bytes. */
export interface FittingShape extends TokenShape {
  readonly steps: readonly ShapeRun[];
}

/** One place where a shape may begin, and how far it fits. */
export interface Attempt {
  readonly shape: FittingShape;
  step: number;
  count: number;
  /** What would be hidden begins here; infinite as long as that has not begun. */
  hiddenFrom: number;
  lastFrom: number;
  /** What the first part took; kept for shapes that hide less, whose first part may be out already. */
  name: string;
}

export type Fit =
  | { readonly kind: 'going' }
  | { readonly kind: 'failed' }
  /** `to` is the first offset behind it. */
  | { readonly kind: 'found'; readonly from: number; readonly to: number }
  /** Found, and the bytes that follow may belong to it. */
  | { readonly kind: 'found_open'; readonly from: number };

/** One object, so that it can be told by its identity: attempts ask for every byte. */
export const GOING: Fit = { kind: 'going' };

/** Where the byte stands, and how to read those before it that are not out yet. */
export interface Place {
  readonly at: number;
  readonly read: (from: number, to: number) => Uint8Array;
}

export function fittingShape(shape: TokenShape): FittingShape {
  return { ...shape, steps: shape.parts.flatMap(runsOf) };
}

export function beginAttempt(shape: FittingShape, from: number): Attempt {
  const hiddenFrom = shape.hides === 'all' ? from : Number.POSITIVE_INFINITY;
  return { shape, step: 0, count: 0, hiddenFrom, lastFrom: Number.POSITIVE_INFINITY, name: '' };
}

/** Takes one byte further. Never goes back, so an attempt costs as much as it has bytes. */
export function advance(attempt: Attempt, byte: number, place: Place): Fit {
  const { steps } = attempt.shape;
  for (;;) {
    const run = steps[attempt.step];
    if (run === undefined) return judged(attempt, place, { next: byte });
    if (run.of[byte] === 1 && attempt.count < run.most) return take(attempt, byte, place);
    if (attempt.count < run.least) return FAILED;
    attempt.step += 1;
    attempt.count = 0;
  }
}

/** Whether all parts of the shape are there; more may still belong to its last one. */
export function isComplete({ shape, step, count }: Attempt): boolean {
  return step === shape.steps.length || (step === shape.steps.length - 1 && count >= (shape.steps[step]?.least ?? 0));
}

/** The input ends here. At a cut, a shape that has begun is taken for one whose rest nobody sees. */
export function finish(attempt: Attempt, how: 'whole' | 'cut', place: Place): Fit {
  const { shape, count } = attempt;
  if (isComplete(attempt)) return judged(attempt, place, {});
  const isHidden = how === 'cut' && Number.isFinite(attempt.hiddenFrom) && shape.hides === 'all' && count > 0;
  return isHidden ? { kind: 'found', from: attempt.hiddenFrom, to: place.at } : FAILED;
}

const BRACKET = 0x28;
const FAILED: Fit = { kind: 'failed' };

function runsOf(part: ShapePart): ShapeRun[] {
  if (typeof part !== 'string') return [part];
  return part.split('').map((character) => ({ of: bytesOf(character), least: 1, most: 1 }));
}

function take(attempt: Attempt, byte: number, place: Place): Fit {
  const { shape, step } = attempt;
  const run = shape.steps[step];
  attempt.count += 1;
  if (step === 0 && shape.hides !== 'all') attempt.name += String.fromCharCode(byte);
  if (run === undefined || step < shape.steps.length - 1) return GOING;
  if (attempt.count === 1) {
    attempt.lastFrom = place.at;
    attempt.hiddenFrom = Math.min(attempt.hiddenFrom, place.at);
  }
  const isOpen = shape.ends === 'open' || shape.ends === 'key_file';
  const isFull = shape.ends === 'run' && attempt.count === run.most;
  if ((isOpen && attempt.count === run.least) || isFull) return judgedOpen(attempt, place);
  return GOING;
}

function judgedOpen(attempt: Attempt, { at, read }: Place): Fit {
  const { shape, lastFrom, hiddenFrom, name } = attempt;
  const isIt = shape.hides !== 'last_until_at' && shape.judge(read(lastFrom, at + 1), name);
  return isIt ? { kind: 'found_open', from: hiddenFrom } : FAILED;
}

/** All runs are read; `next` is the byte behind the last one, unless the input ended there. */
function judged(attempt: Attempt, { at, read }: Place, { next }: { readonly next?: number }): Fit {
  const { shape, lastFrom, hiddenFrom, name } = attempt;
  const last = shape.steps.at(-1);
  const goesOn = next !== undefined && (WORD[next] === 1 || last?.of[next] === 1);
  if (shape.ends === 'exact' && goesOn) return FAILED;
  // A name with a bracket behind it is a call.
  if (shape.ends === 'run' && next === BRACKET) return FAILED;
  const value = read(lastFrom, at);
  if (!shape.judge(value, name)) return FAILED;
  const to = shape.hides === 'last_until_at' ? lastFrom + value.lastIndexOf(0x40) : at;
  return { kind: 'found', from: hiddenFrom, to };
}
