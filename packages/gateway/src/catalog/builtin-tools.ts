import type { Clock } from '@palyra/primitives';
import { createEcho } from '../tools/echo.ts';
import { createFileToolDefinitions, type FileToolDeps } from '../tools/file-tools.ts';
import { createProcessRun, type ProcessRunDeps } from '../tools/process-run.ts';
import { createSleep } from '../tools/sleep.ts';
import type { Tool } from './tool.ts';

export interface BuiltinToolDeps extends ProcessRunDeps, FileToolDeps {
  readonly clock: Clock;
}

/** Every tool that comes with Palyra. */
export function createBuiltinTools(deps: BuiltinToolDeps): readonly Tool[] {
  return [createEcho(deps), createSleep(deps), ...createFileToolDefinitions(deps), createProcessRun(deps)];
}
