import type { Assembler } from './assemble.ts';
import { type Expectation, isAsExpected, type Outcome, told } from './outcomes.ts';
import type { Node } from './syntax.ts';
import { type Actor, createWorld, type World } from './world.ts';

/** An instance in both worlds, or nothing where its module could not be made. */
export type Pair = { readonly plain: Actor; readonly metered: Actor } | undefined;

export interface Definition {
  readonly bytes: Uint8Array;
  readonly metered: Uint8Array;
}

export interface Running {
  readonly source: string;
  readonly assembler: Assembler;
  readonly plain: World;
  readonly metered: World;
  readonly pairs: Map<string, Pair>;
  readonly definitions: Map<string, Definition | undefined>;
  /** Names that were registered for modules we do not have. */
  readonly absent: Set<string>;
  latest: Pair;
  latestDefinition: Definition | undefined;
  agreed: number;
  skipped: number;
  readonly disagreements: string[];
  readonly unsupported: string[];
  readonly unread: string[];
  readonly deviations: string[];
}

export function createRunning(source: string, assembler: Assembler): Running {
  return {
    source,
    assembler,
    plain: createWorld({ isMetered: false }),
    metered: createWorld({ isMetered: true }),
    pairs: new Map(),
    definitions: new Map(),
    absent: new Set(),
    latest: undefined,
    latestDefinition: undefined,
    agreed: 0,
    skipped: 0,
    disagreements: [],
    unsupported: [],
    unread: [],
    deviations: [],
  };
}

export interface Comparison extends Expectation {
  readonly outcomes: readonly [Outcome, Outcome];
}

export function compare(running: Running, form: Node, { outcomes, patterns, expected }: Comparison): void {
  const [plain, metered] = outcomes;
  const fits = (outcome: Outcome): boolean => isAsExpected(outcome, { expected, patterns });
  // Where the script leaves a choice, the metered module may choose otherwise: its NaNs are all one.
  if (told(plain) !== told(metered) && (patterns === undefined || !fits(metered))) {
    running.disagreements.push(`${lineOf(running, form)}: plain ${told(plain)}, metered ${told(metered)}`);
    return;
  }
  running.agreed += 1;
  if (!fits(plain)) running.deviations.push(`${lineOf(running, form)}: V8 gives ${told(plain)}`);
}

export function lineOf({ source }: Running, { start }: Node): string {
  return `line ${source.slice(0, start).split('\n').length}`;
}
