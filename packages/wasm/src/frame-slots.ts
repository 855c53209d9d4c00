import type { FunctionType } from './module-shape.ts';
import type { Planning } from './planning.ts';

/** Return address, frame and instance pointers, what V8 saves: what a frame holds beside its values. */
const FRAME_SLOTS = 8;
/** A call passes and returns so much in registers; the rest is in memory, beside the values it was made from. */
const SLOTS_IN_REGISTERS = 8;
/** An optimizing compiler keeps what it will need again after a call: values that stand on no stack of the guest. */
const INSTRUCTIONS_PER_SLOT = 64;

/**
 * Slots of eight bytes that a call of the function is counted as, whichever compiler has made it; `locals` are
 * the slots of those that are declared.
 *
 * SECURITY: T-26 — what is counted too low here lets a guest reach the end of V8's stack, which is somewhere else on every
 * machine and in every tier, before it reaches ours.
 */
export function frameSlotsOf(planning: Planning, type: FunctionType, locals: number): number {
  const { highest, hasVectors, passed, calls, instructions } = planning;
  const operands = highest * (hasVectors ? 2 : 1);
  const beside = Math.max(0, passed - SLOTS_IN_REGISTERS);
  const kept = calls === 0 ? 0 : Math.floor(instructions / INSTRUCTIONS_PER_SLOT);
  return FRAME_SLOTS + type.paramSlots + locals + operands + beside + kept;
}
