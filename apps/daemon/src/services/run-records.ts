import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import type { RunService } from '@palyra/api';
import {
  type Caller,
  type CallLine,
  type Gateway,
  GatewayError,
  type KeptChanges,
  type Workspace,
} from '@palyra/gateway';
import type { Journal } from '@palyra/journal';
import { type CallId, parseId, type RunId } from '@palyra/primitives';
import type { Authorizer } from '../interceptors/authorize.ts';
import { type AuthenticatedPeer, peerOf } from '../interceptors/peer-context.ts';
import { callerOf } from '../wire/caller-of.ts';
import { fitPage } from '../wire/fit-page.ts';
import { wireCallPage, wireCallSummary, wireRunSummary } from '../wire/run-records.ts';
import { isOwn, knownRun } from './known-run.ts';

export interface RunRecordsDeps {
  readonly gateway: Gateway;
  readonly journal: Pick<Journal, 'find'>;
  readonly changes: Pick<KeptChanges, 'changesOf'>;
  readonly authorizer: Pick<Authorizer, 'may' | 'require'>;
  /** How many bytes of content a message takes. */
  readonly room: number;
  workspaceFor(peer: AuthenticatedPeer, text: string): Promise<Workspace>;
  placeOf(peer: AuthenticatedPeer): Pick<Caller, 'coverage' | 'separation'>;
}

/** The part of the service that looks at runs, and undoes and stops them. */
export type RunRecords = Pick<
  ServiceImpl<typeof RunService>,
  'listRuns' | 'getRun' | 'getCall' | 'undoRun' | 'stopAgents'
>;

const DEFAULT_LIMIT = 50;
const MOST = 200;
/** Each line is looked up in the journal. */
const MOST_CALLS = 1_000;
/** What a line takes besides its summary. */
const LINE_BYTES = 512;

export function createRunRecords(deps: RunRecordsDeps): RunRecords {
  const { gateway, room } = deps;
  const callerIn = (context: HandlerContext): Caller => {
    const peer = peerOf(context);
    return callerOf(peer, deps.placeOf(peer));
  };
  return {
    async listRuns({ principal, openOnly, limit, pageToken }, context) {
      const most = Math.min(limit === 0 ? DEFAULT_LIMIT : limit, MOST);
      const runs = await gateway.listRuns(callerIn(context), {
        limit: most,
        ...(principal === '' ? {} : { principal }),
        ...(openOnly ? { state: 'open' } : {}),
        ...(pageToken === '' ? {} : { before: parseId('run', pageToken) }),
      });
      return { runs: runs.map(wireRunSummary), nextPageToken: runs.length < most ? '' : (runs.at(-1)?.id ?? '') };
    },
    async getRun({ runId }, context) {
      const by = callerIn(context);
      const id = await findRunId(runId, by, { ...deps, peer: peerOf(context) });
      const { run, calls } = await allCalls(gateway, by, id);
      const shown = fitPage(calls.map(wireCallSummary), room, ({ summary = '' }) => LINE_BYTES + summary.length);
      return { run: wireRunSummary(run), calls: shown.toReversed() };
    },
    async getCall({ callId }, context) {
      const by = callerIn(context);
      const id = await findCallId(callId, { ...deps, peer: peerOf(context) });
      return wireCallPage(await gateway.callOf(by, id), room);
    },
    async undoRun({ runId, callId, dryRun, workspace }, context) {
      const [by, peer] = [callerIn(context), peerOf(context)];
      const found = { ...deps, peer };
      const run =
        runId === ''
          ? await newestChanged(await deps.workspaceFor(peer, workspace), by, deps)
          : await findRunId(runId, by, found);
      const call = callId === '' ? undefined : await findCallId(callId, found);
      await requireUndo(run, found);
      const files = dryRun
        ? await wouldUndo(run, call, deps)
        : await undo({ run, call, by, signal: context.signal }, deps);
      return { runId: run, files: [...files] };
    },
    async stopAgents({ principal }, context) {
      const { stopped, failed } = await gateway.stop({
        by: callerIn(context),
        ...(principal === '' ? {} : { principal }),
      });
      if (failed.length === 0) return { runIds: [...stopped] };
      throw new GatewayError('gateway.not_recorded', `The end of ${failed.length} runs could not be recorded.`, {
        fix: 'Nothing more of them begins. Stop them again when the journal can be written.',
      });
    },
  };
}

async function allCalls(gateway: Gateway, by: Caller, id: RunId) {
  const first = await gateway.showRun(by, id, { limit: MOST });
  const calls: CallLine[] = [...first.calls];
  for (let before = first.next; before !== undefined && calls.length < MOST_CALLS; ) {
    const page = await gateway.showRun(by, id, { limit: MOST, before });
    calls.push(...page.calls);
    before = page.next;
  }
  return { run: first.run, calls };
}

interface Finding extends Pick<RunRecordsDeps, 'gateway' | 'journal' | 'authorizer'> {
  readonly peer: AuthenticatedPeer;
}

const WHOLE = 26;

/** SECURITY: T-41 — by its end only among those that the peer sees: else whoever tries ends learns the ids of others. */
async function findRunId(typed: string, by: Caller, deps: Finding): Promise<RunId> {
  if (typed.length === WHOLE) return parseId('run', typed);
  if (seesAll(deps)) return parseId('run', await deps.journal.find('run', typed));
  const own = await deps.gateway.listRuns(by, { limit: MOST });
  const wanted = typed.toUpperCase();
  const [only, another] = typed.length < 4 ? [] : own.filter(({ id }) => id.endsWith(wanted));
  if (only !== undefined && another === undefined) return parseId('run', only.id);
  throw new GatewayError('gateway.run_not_found', 'There is no such run of this credential, or several end so.', {
    fix: 'Give the whole id, as `palyra runs list` has it.',
  });
}

async function findCallId(typed: string, deps: Finding): Promise<CallId> {
  if (typed.length === WHOLE) return parseId('call', typed);
  if (seesAll(deps)) return parseId('call', await deps.journal.find('call', typed));
  throw new GatewayError('gateway.call_not_found', 'There is no such call of this credential.', {
    fix: 'Give the whole id, as `palyra runs show` has it.',
  });
}

function seesAll({ authorizer, peer }: Finding): boolean {
  return authorizer.may(peer, { action: 'run.read', resource: { type: 'Run', id: 'all' }, isOwn: false });
}

/** Throws `gateway.run_not_found`, `daemon.not_permitted`. */
async function requireUndo(id: RunId, { gateway, authorizer, peer }: Finding): Promise<void> {
  const deed = { action: 'run.undo', resource: { type: 'Run', id } } as const;
  const run = await knownRun(gateway, id, { peer, mayOthers: () => authorizer.may(peer, { ...deed, isOwn: false }) });
  authorizer.require(peer, { ...deed, isOwn: isOwn(run, peer) });
}

async function newestChanged(
  { id }: Workspace,
  by: Caller,
  { gateway, changes }: Pick<RunRecordsDeps, 'gateway' | 'changes'>,
): Promise<RunId> {
  const runs = await gateway.listRuns(by, { limit: MOST });
  for (const run of runs.filter(({ workspace }) => workspace === id)) {
    if ((await changes.changesOf(run.id)).length > 0) return parseId('run', run.id);
  }
  throw new GatewayError('gateway.nothing_kept', 'No run of this workspace changed a file that could be put back.');
}

interface UndoneFile {
  readonly path: string;
  readonly result: 'restored' | 'removed' | 'skipped';
  readonly reason: string;
}

/** As far as the list of changes tells: whether somebody changed a file since is found out when it is put back. */
async function wouldUndo(
  run: RunId,
  call: CallId | undefined,
  { changes }: Pick<RunRecordsDeps, 'changes'>,
): Promise<readonly UndoneFile[]> {
  const listed = await changes.changesOf(run);
  const files = new Map<string, UndoneFile>();
  // What was there before the first change is what comes back.
  for (const { changes: made } of listed.filter(({ callId }) => call === undefined || callId === call)) {
    for (const { path, before } of made.files) {
      if (!files.has(path))
        files.set(path, { path, result: before.kind === 'absent' ? 'removed' : 'restored', reason: '' });
    }
  }
  return [...files.values()];
}

interface Undoing {
  readonly run: RunId;
  readonly call: CallId | undefined;
  readonly by: Caller;
  readonly signal: AbortSignal;
}

/** Throws what stopped it half way, after as much as was put back. */
async function undo(
  { run, call, by, signal }: Undoing,
  deps: Pick<RunRecordsDeps, 'gateway' | 'changes'>,
): Promise<readonly UndoneFile[]> {
  const planned = new Map((await wouldUndo(run, call, deps)).map((file) => [file.path, file]));
  const undone = await deps.gateway.undo({ run, by, signal, ...(call === undefined ? {} : { call }) });
  const restored = new Set(undone.restored.map(({ path }) => path));
  const files = [...restored].map((path) => planned.get(path) ?? { path, result: 'restored' as const, reason: '' });
  const skipped = undone.skipped.map(({ path }) => ({
    path,
    result: 'skipped' as const,
    reason: 'It changed since.',
  }));
  if (undone.stopped === undefined) return [...files, ...skipped];
  const { callId, message } = undone.stopped;
  return [...files, ...skipped, { path: '', result: 'skipped', reason: `Stopped at call ${callId}: ${message}` }];
}
