import { type ByteMatcher, type BytePattern, createByteMatcher, step } from './byte-matcher.ts';
import {
  type Attempt,
  advance,
  beginAttempt,
  type FittingShape,
  finish,
  fittingShape,
  GOING,
  isComplete,
  type Place,
} from './fit-shape.ts';
import type { ByteFilter } from './mask-secrets.ts';
import { createMaskedOutput, type MaskedOutput } from './masked-output.ts';
import { standsAfter } from './stands-after.ts';
import { createSwallow, type Swallow } from './swallow-rest.ts';
import type { TokenShape } from './token-shapes.ts';

/** Shapes ready for use; make them once. */
export interface TokenDetector {
  /** Hides what looks like a credential nobody told us about. A guess, unlike the secrets that are held. */
  detectTokens(): SettlingFilter;
  /** False: nothing in these bytes begins as a credential does, and `detectTokens` would leave them as they are. */
  mayFind(bytes: Uint8Array): boolean;
}

/** For output that somebody waits for: a prompt is not followed by anything before it is answered. */
export interface SettlingFilter extends ByteFilter {
  /**
   * What is held back because it might become a credential, and is none yet: when nothing more came for a while. Of one
   * that comes with such pauses the beginning is not hidden; a whole one, and what follows it, is never let go.
   */
  settle(): Uint8Array;
}

export function createTokenDetector(shapes: readonly TokenShape[]): TokenDetector {
  const anchors = anchorsOf(shapes);
  const { matcher } = anchors;
  return {
    detectTokens: () => detectWith(anchors),
    mayFind: (bytes) => matcher.length[findAnchor(matcher, bytes, { at: 0, state: 0 }).state] !== 0,
  };
}

interface Anchor {
  readonly shape: FittingShape;
  readonly text: Uint8Array;
}

interface Anchors {
  readonly matcher: ByteMatcher;
  /** All anchors that end in a state, by the state. */
  readonly endingIn: ReadonlyMap<number, readonly Anchor[]>;
}

/** Anchors are looked for in lower case; those that mind are compared once more. */
const TO_LOWER = Uint8Array.from({ length: 256 }, (_, byte) => (byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte));

function anchorsOf(shapes: readonly TokenShape[]): Anchors {
  const anchors = shapes.flatMap((shape): Anchor[] => {
    const fitting = fittingShape(shape);
    return shape.begins.map((text) => ({ shape: fitting, text: Buffer.from(text, 'latin1') }));
  });
  const patterns = anchors.map(
    ({ shape, text }, label): BytePattern => ({
      bytes: text.map((byte) => TO_LOWER[byte] as number),
      label,
      holds: shape.hides === 'all',
    }),
  );
  const matcher = createByteMatcher(patterns);
  return { matcher, endingIn: endingsOf(matcher, patterns, anchors) };
}

/** The matcher tells of the longest pattern that ends; shorter ones may end at the same byte. */
function endingsOf(
  matcher: ByteMatcher,
  patterns: readonly BytePattern[],
  anchors: readonly Anchor[],
): ReadonlyMap<number, readonly Anchor[]> {
  const byText = Map.groupBy(patterns.keys(), (label) => latin1(patterns[label]?.bytes));
  const endingIn = new Map<number, readonly Anchor[]>();
  for (const { bytes } of patterns) {
    let state = 0;
    for (const [index, byte] of bytes.entries()) {
      state = step(matcher, state, byte);
      if (endingIn.has(state)) continue;
      const read = latin1(bytes.subarray(0, index + 1));
      const labels = Array.from(read, (_, from) => byText.get(read.slice(from)) ?? []).flat();
      endingIn.set(
        state,
        labels.toSorted((one, other) => one - other).map((label) => anchors[label] as Anchor),
      );
    }
  }
  return endingIn;
}

function latin1(bytes: Uint8Array = new Uint8Array()): string {
  return Buffer.from(bytes).toString('latin1');
}

/** Enough to see an escape sequence that colours what follows. */
const LOOK_BEHIND = 32;

function detectWith({ matcher, endingIn }: Anchors): SettlingFilter {
  const output = createMaskedOutput({ mask: (ids) => `[detected:${ids.join(',')}]`, lookBehind: LOOK_BEHIND });
  const place: Place & { at: number } = { at: 0, read: (from, to) => readBytes(output, from, to) };
  let state = 0;
  const attempts: Attempt[] = [];
  let swallow: Swallow | undefined;

  const begin = (at: number): void => {
    for (const { shape, text } of endingIn.get(state) ?? []) {
      const from = at + 1 - text.length;
      if (attempts.some((open) => open.shape === shape && isFirstOrLast(open))) continue;
      if (!shape.anyCase && !isAt(output, from, text)) continue;
      if (standsAfter(output, from, shape.after)) attempts.push(beginAttempt(shape, from));
    }
  };

  const goOn = (byte: number, at: number): void => {
    place.at = at;
    let going = 0;
    for (let index = 0; index < attempts.length; index += 1) {
      const attempt = attempts[index] as Attempt;
      const fit = advance(attempt, byte, place);
      if (fit === GOING) {
        attempts[going] = attempt;
        going += 1;
      } else if (fit.kind === 'found') {
        output.hide(fit.from, fit.to, attempt.shape.id);
      } else if (fit.kind === 'found_open') {
        output.hideOpen(fit.from, attempt.shape.id);
        swallow = createSwallow(attempt.shape);
        going = 0;
        break;
      }
    }
    if (going < attempts.length) attempts.length = going;
  };

  /** The index behind what the bytes from `at` on belong to: a credential, attempts at one, or nothing in question. */
  const readOn = (bytes: Uint8Array, at: number): number => {
    const base = output.base();
    if (swallow !== undefined) {
      const end = swallow.end(bytes, at);
      if (end === bytes.length) return end;
      output.closeAt(base + end);
      swallow = undefined;
      state = 0;
      return end;
    }
    if (attempts.length > 0) {
      const byte = bytes[at] as number;
      goOn(byte, base + at);
      state = step(matcher, state, TO_LOWER[byte] as number);
      if (swallow === undefined && matcher.length[state] !== 0) begin(base + at);
      return at + 1;
    }
    const found = findAnchor(matcher, bytes, { at, state });
    state = found.state;
    if (matcher.length[state] !== 0) begin(base + found.at - 1);
    return found.at;
  };

  /** Before this offset nothing can be hidden any more. */
  const settled = (): number =>
    swallow === undefined
      ? attempts.reduce(
          (least, { hiddenFrom }) => Math.min(least, hiddenFrom),
          output.total() - (matcher.held[state] as number),
        )
      : output.total();

  return {
    write(chunk) {
      const from = output.total();
      output.push(chunk);
      const bytes = output.bytes();
      for (let at = from - output.base(); at < bytes.length; ) at = readOn(bytes, at);
      return output.release(settled());
    },
    settle() {
      if (swallow !== undefined || attempts.some(isComplete)) return output.release(settled());
      attempts.length = 0;
      return output.release(output.total());
    },
    end(how) {
      place.at = output.total();
      if (swallow !== undefined) output.closeAt(output.total());
      for (const attempt of attempts) {
        const fit = finish(attempt, how, place);
        if (fit.kind === 'found') output.hide(fit.from, fit.to, attempt.shape.id);
      }
      return output.release(output.total());
    },
  };
}

/** A beginning within the first or last run of its own shape is no new beginning: attempts stay as few as shapes have runs. */
function isFirstOrLast({ shape, step: reached }: Attempt): boolean {
  return reached === 0 || reached === shape.steps.length - 1;
}

interface Reached {
  readonly at: number;
  readonly state: number;
}

/** Most bytes of most outputs are read here: up to and including the first that ends an anchor. */
function findAnchor(matcher: ByteMatcher, bytes: Uint8Array, { at: from, state: first }: Reached): Reached {
  const { rows, successors, length } = matcher;
  const lower = TO_LOWER;
  let state = first;
  for (let at = from; at < bytes.length; at += 1) {
    const byte = lower[bytes[at] as number] as number;
    state = state < rows ? (successors[(state << 8) | byte] as number) : step(matcher, state, byte);
    if (length[state] !== 0) return { at: at + 1, state };
  }
  return { at: bytes.length, state };
}

function readBytes(output: MaskedOutput, from: number, to: number): Uint8Array {
  return output.bytes().subarray(from - output.base(), to - output.base());
}

function isAt(output: MaskedOutput, from: number, text: Uint8Array): boolean {
  const bytes = output.bytes();
  const first = from - output.base();
  return text.every((byte, index) => bytes[first + index] === byte);
}
