import type { JsonValue } from '@palyra/primitives';
import { type Hint, hintsFor, type ProtectedChange, type Ran, type ResourceUse, type RunResult } from '@palyra/sandbox';
import type { Executed, ExecutionFacts, ToolResult } from '../catalog/tool.ts';
import { attestedUse, type NetworkUse, toldUse } from '../connections/network-use.ts';
import { withCallersFixes } from './callers-fixes.ts';
import { enforcementOf, measuredSandbox } from './measured-sandbox.ts';
import { withNetworkHint } from './network-hint.ts';
import { TOOL_OUTCOMES, type ToolOutcomeCode } from './tool-outcomes.ts';

export interface ResultQuestion {
  readonly result: RunResult;
  /** The call's time was over, and that is why it was ended. */
  readonly isTimeOver: boolean;
  /** Takes secrets out of what was printed; `cut` when its end is missing. */
  redact(bytes: Uint8Array, how: 'whole' | 'cut'): Uint8Array;
  readonly network: NetworkUse;
}

/** What became of a command, as every tool tells it. */
export function toolResultOf({ result, isTimeOver, redact, network }: ResultQuestion): ToolResult {
  if (!('executor' in result)) {
    const { code, message, fix } = result;
    return { kind: 'refused', code, message, fix };
  }
  const hints = isFine(result) ? [] : withNetworkHint(withCallersFixes(hintsFor(asEnded(result, isTimeOver))), network);
  const executed = executedOf(result, { redact, network, hints });
  switch (result.kind) {
    case 'completed':
      return { kind: 'completed', exitCode: result.exitCode, ...executed };
    case 'signalled':
      return {
        kind: 'failed',
        signal: result.signal,
        ...ended('tool.signalled', hints),
        message: `It was ended by ${result.signal}.`,
        ...executed,
      };
    case 'timed_out':
      return {
        kind: 'timed_out',
        ...ended(result.limit === 'wall' ? 'tool.timed_out' : 'tool.silent', hints),
        ...executed,
      };
    case 'cancelled':
      return isTimeOver
        ? { kind: 'timed_out', ...ended('tool.timed_out', hints), ...executed }
        : { kind: 'cancelled', ...ended('tool.cancelled', hints), ...executed };
    case 'quota_exceeded':
      return { kind: 'quota_exceeded', ...ended(`tool.${result.quota}_exceeded`, hints), ...executed };
    case 'lost':
      return { kind: 'unknown_outcome', ...ended('tool.lost', hints), ...executed };
  }
}

/** Of what was cancelled because its call was over, the time is what it ran into. */
function asEnded(result: Extract<RunResult, Ran>, isTimeOver: boolean): RunResult {
  return result.kind === 'cancelled' && isTimeOver ? { ...result, kind: 'timed_out', limit: 'wall' } : result;
}

/** Whether all that it had to say was heard. */
export function endOf({ kind }: RunResult): 'whole' | 'cut' {
  return kind === 'completed' || kind === 'signalled' ? 'whole' : 'cut';
}

/** For the journal, by unit. */
function resourcesOf(usage: ResourceUse): ExecutionFacts['resources'] {
  const { wallMs, userMs, systemMs, maxRssBytes, outputBytes } = usage;
  const all = {
    wall_ms: wallMs,
    user_ms: userMs,
    system_ms: systemMs,
    max_rss_bytes: maxRssBytes,
    output_bytes: outputBytes,
  };
  return Object.fromEntries(Object.entries(all).map(([name, value]) => [name, Math.max(0, Math.round(value))]));
}

function ended(
  code: ToolOutcomeCode,
  hints: readonly Hint[],
): { code: ToolOutcomeCode; message: string; fix?: string } {
  const [hint] = hints;
  return { code, message: TOOL_OUTCOMES[code], ...(hint === undefined ? {} : { fix: hint.fix }) };
}

function isFine(result: RunResult): boolean {
  return result.kind === 'completed' && result.exitCode === 0;
}

interface Told extends Pick<ResultQuestion, 'redact' | 'network'> {
  readonly hints: readonly Hint[];
}

function executedOf(result: Extract<RunResult, Ran>, { redact, network, hints }: Told): Executed {
  const { output, usage, startedAt, endedAt, executor } = result;
  const how = endOf(result);
  return {
    stdout: redact(output.stdout, how),
    stderr: redact(output.stderr, how),
    output: {
      protected_changed: result.protectedChanged.map(changeOf),
      ...toldUse(network),
      ...(hints.length === 0 ? {} : { hints: hints.map(({ kind, what, fix }): JsonValue => ({ kind, what, fix })) }),
    },
    ran: {
      executor,
      enforcement: enforcementUnder(network.mode, result),
      sandbox: { ...measuredSandbox(result), egress_mode: network.mode, way_out: network.hadWayOut ? 'proxy' : 'none' },
      resources: resourcesOf(usage),
      ...attestedUse(network),
      startedAt,
      endedAt,
    },
  };
}

/** SECURITY: T-20, T-49 — an empty network namespace holds nobody whose proxy lets everything pass. */
function enforcementUnder(mode: NetworkUse['mode'], result: Extract<RunResult, Ran>): ExecutionFacts['enforcement'] {
  return mode === 'strict' ? enforcementOf(result) : mode;
}

/** Where what was found is kept is a place in Palyra's home, which no agent is told. */
function changeOf({ path, what, restored, keptAs, reason }: ProtectedChange): JsonValue {
  return { path, what, restored, kept: keptAs !== undefined, reason };
}
