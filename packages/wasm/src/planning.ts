import { type Charging, createCharging } from './charging.ts';
import { type Cursor, cursorOn } from './cursor.ts';
import type { ModuleLimits } from './limits.ts';
import { createPlaces } from './meter-plan.ts';
import type { ModuleShape } from './module-shape.ts';
import { createOpenBlocks, type OpenBlocks } from './open-blocks.ts';

/** The body that is being planned. One object for all, so that planning a million instructions makes no garbage. */
export interface Planning {
  readonly shape: ModuleShape;
  readonly limits: ModuleLimits;
  readonly cursor: Cursor;
  readonly charging: Charging;
  readonly open: OpenBlocks;
  /** Parameters and locals. */
  values: number;
  /** Values on the operand stack, and the most there were. */
  height: number;
  highest: number;
  /** Whether the next instruction can never run. */
  dead: boolean;
  ended: boolean;
  instructions: number;
  compileWork: number;
  loops: number;
  calls: number;
  /** The most slots that one call passes and gets back. */
  passed: number;
  hasBulk: boolean;
  /** The kinds of NaN that must become one, as bits. */
  nans: number;
  /** Either form: from there on a call may also go on elsewhere. */
  hasTry: boolean;
  hasTryTable: boolean;
  hasVectors: boolean;
  /** Of all bodies together. */
  changesTables: boolean;
  dropsSegments: boolean;
}

export function createPlanning(shape: ModuleShape, limits: ModuleLimits): Planning {
  return {
    shape,
    limits,
    cursor: cursorOn(shape.bytes),
    charging: createCharging(createPlaces(Math.max(256, shape.bytes.length >> 3))),
    open: createOpenBlocks(limits.nesting + 1),
    values: 0,
    height: 0,
    highest: 0,
    dead: false,
    ended: false,
    instructions: 0,
    compileWork: 0,
    loops: 0,
    calls: 0,
    passed: 0,
    hasBulk: false,
    nans: 0,
    hasTry: false,
    hasTryTable: false,
    hasVectors: false,
    changesTables: false,
    dropsSegments: false,
  };
}

/** Makes it ready for another body. */
export function resetFor(planning: Planning): void {
  planning.values = 0;
  planning.height = 0;
  planning.highest = 0;
  planning.dead = false;
  planning.ended = false;
  planning.instructions = 0;
  planning.compileWork = 0;
  planning.loops = 0;
  planning.calls = 0;
  planning.passed = 0;
  planning.hasBulk = false;
  planning.nans = 0;
  planning.hasTry = false;
  planning.hasTryTable = false;
  planning.hasVectors = planning.shape.hasVectors;
  planning.charging.charges = 0;
}

export function grow(planning: Planning, by: number): void {
  planning.height += by;
  if (planning.height > planning.highest) planning.highest = planning.height;
}
