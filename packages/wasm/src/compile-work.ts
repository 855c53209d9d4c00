import type { Planning } from './planning.ts';
import { tooLarge } from './wasm-error.ts';

/** Reading a byte once more takes a fraction of what looking at a value does. */
const BYTES_PER_VALUE = 4;

/**
 * V8's compilers do more than read a function once: where ways part or join they look at every value that is alive, be it
 * a local or on the stack, and at the head of a loop they read the whole loop. What is small when each is small makes, in
 * some ten thousand bytes, seconds of work and gigabytes of memory, and no fuel is asked for it.
 */
export function countJoins(planning: Planning, ways: number): void {
  planning.compileWork += ways * (planning.values + Math.max(0, planning.height));
}

export function countLoop(planning: Planning, bytes: number): void {
  planning.compileWork += Math.floor(bytes / BYTES_PER_VALUE);
}

/** Takes the work of one function from what is left for all. Throws `WasmError` when either is too much. */
export function checkCompileWork({ compileWork, limits }: Planning, left: number): number {
  // SECURITY: T-26 — V8 compiles when a function is first called, at nobody's expense, and dies when it runs out of memory.
  if (compileWork > limits.compileWork) throw tooLarge('Work to compile a function', compileWork, limits.compileWork);
  if (compileWork <= left) return left - compileWork;
  throw tooLarge(
    'Work to compile all functions',
    limits.totalCompileWork - left + compileWork,
    limits.totalCompileWork,
  );
}
