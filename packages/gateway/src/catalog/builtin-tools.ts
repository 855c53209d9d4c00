import type { Clock } from '@palyra/primitives';
import { type AgentRunDeps, createAgentRun } from '../tools/agent-run.ts';
import { createEcho } from '../tools/echo.ts';
import { createFileToolDefinitions, type FileToolDeps } from '../tools/file-tools.ts';
import { createHttpFetch, type HttpFetchDeps } from '../tools/http-fetch.ts';
import { createProcessRun, type ProcessRunDeps } from '../tools/process-run.ts';
import { createSleep } from '../tools/sleep.ts';
import type { WasmTools } from '../tools/wasm-answers.ts';
import { createWasmRun } from '../tools/wasm-run.ts';
import type { Tool } from './tool.ts';

export interface BuiltinToolDeps extends Omit<ProcessRunDeps, 'egress'>, FileToolDeps {
  readonly clock: Clock;
  /** What `palyra.process.run` has where its call says nothing; like everything else that runs in a box unless told. */
  readonly commandProfileFor?: ProcessRunDeps['profileFor'];
  /** The way out of boxes, and of palyrad itself; absent: there is none. */
  readonly egress?: NonNullable<ProcessRunDeps['egress']> & NonNullable<HttpFetchDeps['egress']>;
  /** Absent: there is no palyra.wasm.run. */
  readonly wasm?: WasmTools;
  /** Absent: no agent can be wrapped. */
  readonly agents?: Pick<AgentRunDeps, 'outfitFor' | 'programsOf' | 'openSession'>;
}

/** Every tool that comes with Palyra. */
export function createBuiltinTools(deps: BuiltinToolDeps): readonly Tool[] {
  const { profileFor, commandProfileFor = profileFor } = deps;
  const wasm = deps.wasm === undefined ? [] : [createWasmRun({ ...deps, wasm: deps.wasm })];
  return [
    createEcho(deps),
    createSleep(deps),
    ...createFileToolDefinitions(deps),
    // SECURITY: T-20 — alone: a Tier that the operator chose for commands must not take the wall from files and agents.
    createProcessRun({ ...deps, profileFor: commandProfileFor }),
    createHttpFetch(deps),
    ...(deps.agents === undefined ? [] : [createAgentRun({ ...deps, ...deps.agents })]),
    ...wasm,
  ];
}
