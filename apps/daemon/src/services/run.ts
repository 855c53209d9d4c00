import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import { type CallProposal, type RunService, WatchRunResponseSchema } from '@palyra/api';
import {
  AGENT_RUN,
  type Caller,
  type Gateway,
  GatewayError,
  type KnownRun,
  type Run,
  type Workspace,
} from '@palyra/gateway';
import { parseId } from '@palyra/primitives';
import { DaemonError } from '../daemon-error.ts';
import type { Authorizer } from '../interceptors/authorize.ts';
import { type AuthenticatedPeer, peerOf } from '../interceptors/peer-context.ts';
import type { RunHubs } from '../runs/run-hubs.ts';
import { callerOf } from '../wire/caller-of.ts';
import { invalid, proposalOf, sentInputOf } from '../wire/proposal.ts';
import { wireToolCallResult } from '../wire/tool-call-result.ts';
import { type CollectCallDeps, collectCall } from './collect-call.ts';
import { isOwn, knownRun } from './known-run.ts';
import { createRunStream } from './run-stream.ts';
import { tellEvents } from './tell-events.ts';

export interface RunServiceDeps extends CollectCallDeps {
  readonly gateway: Gateway;
  readonly hubs: RunHubs;
  readonly authorizer: Pick<Authorizer, 'may'>;
  /** One of the registry, by its path, a path inside it, its id, or nothing. Throws when the peer has none such. */
  workspaceFor(peer: AuthenticatedPeer, text: string): Promise<Workspace>;
  /** How much of this peer passes through here, and who is protected from whom. */
  placeOf(peer: AuthenticatedPeer): Pick<Caller, 'coverage' | 'separation' | 'isBoxed'>;
}

/** The part of the service that makes calls. */
export type RunCalls = Pick<
  ServiceImpl<typeof RunService>,
  | 'runStream'
  | 'startRun'
  | 'callTool'
  | 'collectCall'
  | 'watchRun'
  | 'feedCall'
  | 'cancelCall'
  | 'cancelRun'
  | 'endRun'
>;

export function createRunCalls(deps: RunServiceDeps): RunCalls {
  const { gateway, hubs, room } = deps;
  const callerIn = (context: HandlerContext): Caller => {
    const peer = peerOf(context);
    return callerOf(peer, deps.placeOf(peer));
  };
  const start = async (context: HandlerContext, request: StartedWith): Promise<Run> => {
    const peer = peerOf(context);
    if (request.surface === 'wrap' && !isOfThisHost(peer)) throw notHere();
    const workspace = await deps.workspaceFor(peer, request.workspace);
    const session = request.sessionId === '' ? {} : { session: parseId('session', request.sessionId) };
    const place = { ...deps.placeOf(peer), ...coverageOf(request.surface) };
    const run = await gateway.startRun(callerOf(peer, place), { workspace, ...session });
    return request.surface === 'wrap' ? onlyWrapping(run) : run;
  };
  const find = (context: HandlerContext, runId: string, action: 'run.read' | 'run.cancel'): Promise<KnownRun> => {
    const [peer, id] = [peerOf(context), parseId('run', runId)];
    const mayOthers = () => deps.authorizer.may(peer, { action, resource: { type: 'Run', id }, isOwn: false });
    return knownRun(gateway, id, { peer, mayOthers });
  };
  const resume = (context: HandlerContext, runId: string) =>
    gateway.resumeRun(callerIn(context), parseId('run', runId));

  return {
    runStream: createRunStream({ ...deps, start, resume }),
    async startRun(request, context) {
      const run = await start(context, request);
      hubs.of(run);
      hubs.attend(run.id).leave();
      return { runId: run.id, sessionId: run.session };
    },
    async callTool({ runId, proposal }, context) {
      const run = await resume(context, runId);
      const here = hubs.attend(run.id);
      try {
        const result = await hubs.of(run).propose(run, proposalOf(withKey(proposal)), 0);
        return { result: wireToolCallResult(result, room) };
      } finally {
        here.leave();
      }
    },
    collectCall: (request, context) => collectCall(request, context, deps),
    async *watchRun({ runId, afterSequence }, context) {
      const run = await find(context, runId, 'run.read');
      const { signal } = context;
      const here = isOwn(run, peerOf(context)) && run.end === undefined ? hubs.attend(run.id) : undefined;
      try {
        const events = await hubs.events(run, { after: Number(afterSequence), signal, isWaitedFor: false });
        yield* tellEvents(events, { schema: WatchRunResponseSchema, context, room });
      } finally {
        here?.leave();
      }
    },
    async feedCall({ runId, input }, context) {
      const run = await resume(context, runId);
      const sent = sentInputOf(input);
      await hubs.of(run).send(sent.key, sent.input);
      return {};
    },
    async cancelCall({ runId, key }, context) {
      const run = await find(context, runId, 'run.cancel');
      if (run.end === undefined) hubs.of(await gateway.adoptRun(run.id)).cancelCall(key);
      return {};
    },
    async cancelRun({ runId }, context) {
      const run = await find(context, runId, 'run.cancel');
      if (run.end !== undefined) throw new GatewayError('gateway.run_ended', 'The run is over.');
      const adopted = await gateway.adoptRun(run.id);
      hubs.of(adopted);
      await adopted.cancel(callerIn(context).actor);
      return {};
    },
    async endRun({ runId }, context) {
      const run = await resume(context, runId);
      hubs.of(run);
      await run.end();
      return {};
    },
  };
}

interface StartedWith {
  readonly workspace: string;
  readonly sessionId: string;
  readonly surface: string;
}

/** The caller's word, and worth no more than the other: of neither does anything but these calls pass through here. */
function coverageOf(surface: string): Partial<Pick<Caller, 'coverage'>> {
  if (surface === '') return {};
  if (surface === 'mcp') return { coverage: 'mcp_only' };
  if (surface === 'wrap') return { coverage: 'wrapped' };
  throw invalid('The surface is mcp, wrap, or nothing.');
}

/** SECURITY: T-36, T-49 — wrapped is what is in the box: of whoever starts it, starting it is all that counts as that. */
function onlyWrapping(run: Run): Run {
  return {
    ...run,
    call(proposed) {
      if (proposed.tool !== AGENT_RUN) throw invalid('In a run of palyra wrap only the agent is started from outside.');
      return run.call(proposed);
    },
  };
}

/**
 * SECURITY: T-36, T-40 — an agent's box holds its login, which the operator has in a file of this host: it is for whoever works
 * here, and not for an agent from elsewhere, or one with a token.
 */
function isOfThisHost(peer: AuthenticatedPeer): boolean {
  return peer.via === 'certificate' && peer.assurance === 'same_host_key';
}

function notHere(): DaemonError {
  return new DaemonError('daemon.not_permitted', 'Agents are wrapped for whoever works on this host.', {
    fix: 'Run palyra wrap at a terminal of the host that palyrad runs on.',
  });
}

/** A call that nobody will ask for again still has a name, by which it is told. */
function withKey(proposal: CallProposal | undefined): CallProposal | undefined {
  return proposal === undefined || proposal.key !== '' ? proposal : { ...proposal, key: crypto.randomUUID() };
}
