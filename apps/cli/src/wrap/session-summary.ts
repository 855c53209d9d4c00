import type { CallSummary, ToolCallResult } from '@palyra/client';
import { describeError, type JsonObject, visibleText } from '@palyra/primitives';
import type { CommandContext } from '../command.ts';
import type { Reached } from '../reach-daemon.ts';
import { connectionsIn, type ShownConnection } from '../render/connections.ts';
import type { Paint } from '../render/paint.ts';
import { safeText } from '../render/safe-text.ts';
import { verdictOf } from '../render/verdict.ts';
import { readVerifyOptions } from '../verify-options.ts';
import { verifyTarget } from '../verify-target.ts';
import { type ChangedFiles, changedFiles } from './changed-files.ts';
import type { AgentToWrap } from './choose-agent.ts';

/** What a session came to. */
export interface SessionSummary {
  readonly run_id: string;
  readonly session_id: string;
  readonly profile: string;
  readonly coverage: 'wrapped';
  /** The wrap itself, as every call is told. */
  readonly agent: ToolCallResult;
  /** Of the agent's own, without the wrap. */
  readonly calls: number;
  readonly questions: number;
  readonly refusals: number;
  /** Hosts that its commands, or it, wanted to connect to and did not. */
  readonly connections_refused: number;
  readonly changed_files: ChangedFiles;
  readonly verification:
    | { readonly verdict: 'sound'; readonly entries: number }
    | { readonly verdict: 'broken' | 'not_run'; readonly why: string };
  readonly undo: string;
}

export interface Session {
  readonly run: string;
  readonly agent: AgentToWrap;
  readonly result: ToolCallResult;
  readonly startedAt: number;
  /** How many questions were heard of while it went on; none where nobody could be asked here. */
  readonly asked: number;
  readonly reached: Reached;
  readonly context: CommandContext;
}

export async function summarise(session: Session): Promise<SessionSummary> {
  const { run: id, agent, result, startedAt, asked, reached, context } = session;
  const { run, calls } = await reached.client.runs.get(id);
  const own = calls.filter(({ call_id: call }) => call !== result.call_id);
  const pages = await pagesOf(calls, reached);
  return {
    run_id: id,
    session_id: run.session_id,
    profile: agent.profile,
    coverage: 'wrapped',
    agent: result,
    calls: own.length,
    // The one about the wrap itself, too. What a call's page does not have is a question about a connection that was held.
    questions: Math.max(asked, pages.filter(({ approval }) => approval !== undefined).length),
    refusals: own.filter(({ outcome }) => outcome === 'refused').length,
    connections_refused: pages.flatMap(connectionsRefused).length,
    changed_files: changedFiles(run.workspace_root, startedAt),
    verification: await verification(context),
    undo: `palyra undo ${id}`,
  };
}

/** Palyrad keeps up with so many at once. */
const AT_ONCE = 16;

/** A question that was answered shows in the call's own page, and not in its last decision. */
async function pagesOf(
  calls: readonly Pick<CallSummary, 'call_id'>[],
  { client }: Reached,
): Promise<readonly ToolCallResult[]> {
  const results: ToolCallResult[] = [];
  for (let at = 0; at < calls.length; at += AT_ONCE) {
    const pages = calls.slice(at, at + AT_ONCE).map(({ call_id: id }) => client.runs.getCall(id));
    results.push(...(await Promise.all(pages)).map(({ result }) => result));
  }
  return results;
}

function connectionsRefused({ outcome }: ToolCallResult): readonly ShownConnection[] {
  const { connections } = Object(outcome.output) as JsonObject;
  return connectionsIn(connections).filter(({ outcome: what }) => what === 'denied');
}

/** The whole journal of the home, offline, as anybody could. */
async function verification(context: CommandContext): Promise<SessionSummary['verification']> {
  try {
    const input = await readVerifyOptions({}, context);
    const verdict = await verdictOf(
      await verifyTarget(undefined, input, { ...context, terminal: undefined }),
      input.pins,
    );
    if (verdict.kind === 'sound') return { verdict: 'sound', entries: verdict.size };
    return { verdict: 'broken', why: verdict.finding.why };
  } catch (error) {
    // As a service the journal is not this user's to read.
    return { verdict: 'not_run', why: describeError(error).message };
  }
}

const SHOWN = 8;

export function renderSummary(summary: SessionSummary, paint: Paint): string {
  const { calls, questions, refusals, changed_files: changed, verification: verified, undo, run_id: run } = summary;
  const { connections_refused: kept } = summary;
  const cut = kept === 0 ? '' : `, ${counted(kept, 'connection')} refused`;
  const files = changed.paths.slice(0, SHOWN).map((path) => `    ${safeText(visibleText(path))}`);
  const more = changed.count > files.length ? [`    … ${changed.count - files.length} more`] : [];
  // Of edits: what commands did is not put back.
  const undoing =
    calls === 0 ? [] : [`  undo       ${undo.replace(run, run.slice(-6))}   (edits; not what commands did)`];
  return `${[
    '',
    `${paint('title', 'palyra')}  ${counted(calls, 'call')}, ${counted(questions, 'question')}, ${counted(refusals, 'refusal')}${cut}`,
    `  changed    ${counted(changed.count, 'file')}${changed.isWhole ? '' : ' or more'}`,
    ...files,
    ...more,
    `  journal    ${verdictText(verified, paint)}`,
    `  look       palyra log ${run.slice(-6)}`,
    ...undoing,
  ].join('\n')}\n`;
}

function verdictText(verified: SessionSummary['verification'], paint: Paint): string {
  switch (verified.verdict) {
    case 'sound':
      return `${paint('fix', 'verified')}, ${verified.entries} entries`;
    case 'broken':
      return `${paint('error', 'BROKEN')}: ${safeText(verified.why)}`;
    case 'not_run':
      return `not verified here: ${safeText(verified.why)}`;
  }
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}
