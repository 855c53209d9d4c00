import {
  type AgentAnswer,
  type AgentEvent,
  blocked,
  findClient,
  type HookReply,
  OWN_SERVER,
  readMessage,
} from '@palyra/agents';
import { type Caller, type Gateway, GatewayError, type Redactor, type Workspace } from '@palyra/gateway';
import { AppError, type Clock, canonicalJson, type Logger, sha256OfJson } from '@palyra/primitives';
import type { RunHubs } from '../runs/run-hubs.ts';
import { type AgentSession, askRun } from './ask-run.ts';
import type { CollectPlaces } from './collect-command.ts';
import { createForeignServers, type ForeignServersDeps, type ServerQuestion } from './foreign-server.ts';
import { createHeldCommands, type HeldCommand } from './held-commands.ts';
import { createKeptSessions } from './kept-sessions.ts';
import { startOf } from './own-programs.ts';
import { createOwnRules, type OwnRulesDeps } from './own-rules.ts';
import { createPendingReports } from './pending-reports.ts';
import { proposalOf } from './proposal-of-act.ts';

/** Agents whose hooks ask us: each session of an agent is a run. */
export interface AgentSessions {
  /** What the hook's program is to do. Never throws: every failure and every doubt is the agent's blocking answer. */
  answer(asked: AskedHook, signal: AbortSignal): Promise<HookReply>;
  /** As whom hooks ask and commands are come for, looked up for each: throws when it does not count any more. */
  caller(): Promise<Caller>;
  /** Comes for a command that was permitted. Throws `gateway.call_not_found`. */
  collect(callId: string, credential: string): HeldCommand;
  /** The agents are gone: what they have not reported or come for by now nobody will. Their runs are ended by whoever began them. */
  close(): void;
}

export interface AskedHook {
  /** The agent's program, as its hook names it. */
  readonly client: string;
  /** The `palyra` that the agent can start. */
  readonly program: string;
  /** Where the agent runs its hooks; empty when that is not known. */
  readonly directory: string;
  /** As the agent wrote it. */
  readonly message: string;
}

export interface AgentSessionsDeps extends ForeignServersDeps, Pick<OwnRulesDeps, 'within'> {
  readonly gateway: Pick<Gateway, 'startRun'>;
  readonly hubs: RunHubs;
  readonly workspaces: { resolve(text: string): Promise<Workspace> };
  readonly home: CollectPlaces['home'];
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'warn'>;
  readonly redactor: Pick<Redactor, 'redactText'>;
  caller: AgentSessions['caller'];
}

type Before = Extract<AgentEvent, { readonly kind: 'before' }>;
type After = Extract<AgentEvent, { readonly kind: 'after' }>;
type Client = ReturnType<typeof findClient>;

export function createAgentSessions(deps: AgentSessionsDeps): AgentSessions {
  const { gateway, hubs, workspaces, logger } = deps;
  const held = createHeldCommands(deps);
  const foreign = createForeignServers(deps);
  const ownRules = createOwnRules(deps);
  const sessions = createKeptSessions<AgentSession>({ leave: ({ reports }) => reports.close() });

  /** Side by side: the one waits for the database, the other looks at folders, and the agent waits for both. */
  const whoAndWhere = async ({ cwd }: Opening['event'], who: Promise<Caller>) => {
    const [caller, workspace] = await Promise.all([who, workspaces.resolve(cwd)]);
    return { caller, workspace };
  };
  const open = (name: string, { event, caller, workspace }: Opening): Promise<AgentSession> =>
    sessions.open(keyOf(name, { event, caller, workspace }), async () => {
      const run = await gateway.startRun(caller, { workspace });
      hubs.of(run);
      hubs.attend(run.id).leave();
      return { run, reports: createPendingReports() };
    });
  const end = async (name: string, session: string, { credential }: Caller): Promise<void> => {
    const wanted = JSON.stringify([credential, name, session]).slice(0, -1);
    for (const { run } of await sessions.take((key) => key.startsWith(`${wanted},`))) await run.end();
  };
  /** SECURITY: T-38 — another server that took our name, and our tools' names, is another server: it is asked about. */
  const asItIs = async (event: Before, { client, program }: Pick<ServerQuestion, 'client' | 'program'>) => {
    if (event.act.kind !== 'ours') return event;
    const { root } = await workspaces.resolve(event.cwd);
    const isForeign = await foreign.hasOurName({ client, program, cwd: event.cwd, root });
    return isForeign ? { ...event, act: { kind: 'upstream', server: OWN_SERVER } as const } : event;
  };
  const decide = async (
    client: Client,
    asked: AskedCaller,
    event: Before,
    signal: AbortSignal,
  ): Promise<AgentAnswer> => {
    const { name } = client.profile;
    const proposal = proposalOf(await asItIs(event, { client: name, program: asked.program }), {
      name,
      canRewrite: client.hooks?.canRewrite === true,
    });
    if (proposal.kind === 'none') return { kind: 'no_objection' };
    const [{ caller, workspace }, own] = await Promise.all([
      whoAndWhere(event, asked.who),
      proposal.kind === 'held' ? ownRules.judge(client, { ...event, hookIn: asked.directory }) : NO_RULE,
    ]);
    const ask = async (): Promise<AgentAnswer> => {
      const session = await open(name, { event, caller, workspace });
      const says = event.input['description'];
      try {
        const answer = await askRun(session, {
          proposal,
          hub: hubs.of(session.run),
          attend: () => hubs.attend(session.run.id),
          held,
          places: { ...startOf(asked.program), home: deps.home },
          // SECURITY: T-24 — its words stand in a list of processes. More than are shown, or half a secret would be none.
          shown: proposal.kind === 'held' ? deps.redactor.redactText(proposal.command.slice(0, MOST_SHOWN)) : '',
          reportName: reportName(event),
          credential: caller.credential,
          forbidden: own.kind === 'refused' ? own.reason : undefined,
          agentSays: typeof says === 'string' ? says.slice(0, MOST_SAID) : undefined,
          signal,
        });
        return answer.kind === 'run_instead' && own.kind === 'ask' ? { ...answer, ask: own.words } : answer;
      } catch (error) {
        // Nobody came back for a while, or somebody stopped it; the agent goes on in a run of its own.
        if (error instanceof GatewayError && error.code === 'gateway.run_ended') sessions.forget(session);
        throw error;
      }
    };
    return ask().catch((error: unknown) => {
      if (error instanceof GatewayError && error.code === 'gateway.run_ended') return ask();
      throw error;
    });
  };
  const report = async (client: Client, { who }: AskedCaller, event: After): Promise<void> => {
    const known = sessions.get(keyOf(client.profile.name, { event, ...(await whoAndWhere(event, who)) }));
    // SECURITY: T-32 — the agent goes on when it is on record. What nobody waits for ran in the box, and is on record already.
    await (await known)?.reports.report(reportName(event), { kind: event.outcome, output: event.output });
  };
  const answer = async (said: AskedHook, signal: AbortSignal): Promise<HookReply> => {
    const client = findClient(said.client);
    const { hooks } = client;
    if (hooks === undefined) return blocked(`Palyra: ${client.profile.title} has no hooks that it could answer.`);
    const asked = { ...said, who: deps.caller() };
    // Whoever needs it hears of it.
    asked.who.catch(() => undefined);
    const event = hooks.readEvent(readMessage(said.message));
    switch (event.kind) {
      case 'canary':
        return hooks.reply({ kind: 'refused', reason: `palyra canary ${event.nonce}` }, event);
      case 'before':
        return hooks.reply(await decide(client, asked, event, signal), event);
      case 'after':
        await report(client, asked, event);
        break;
      case 'session_ended':
        await end(client.profile.name, event.session, await asked.who);
        break;
      case 'other':
        break;
    }
    return hooks.reply({ kind: 'no_objection' }, event);
  };
  return {
    async answer(asked, signal) {
      try {
        return await answer(asked, signal);
      } catch (error) {
        // SECURITY: T-58 — whatever goes wrong here, the agent's tool does not run.
        logger.warn({ error, client: asked.client }, 'A hook was answered with a no.');
        return blocked(`Palyra: ${whyNot(error)}`);
      }
    },
    caller: () => deps.caller(),
    collect: (callId, credential) => held.collect(callId, credential),
    close() {
      sessions.close();
      held.close();
    },
  };
}

const MOST_SAID = 4096;
const MOST_SHOWN = 4096;
const NO_RULE = { kind: 'none' } as const;

interface AskedCaller extends AskedHook {
  readonly who: Promise<Caller>;
}

interface Opening {
  readonly event: { readonly cwd: string; readonly session: string };
  readonly caller: Caller;
  readonly workspace: Workspace;
}

function keyOf(name: string, { event, caller, workspace }: Opening): string {
  return JSON.stringify([caller.credential, name, event.session, workspace.id]);
}

/** Where an agent has no name for a call: two that are the same are reported in the order in which they were made. */
function reportName({ callId, tool, input }: Pick<Before, 'callId' | 'tool' | 'input'>): string {
  return callId === undefined ? sha256OfJson({ tool, input: canonicalJson(input) }) : `id:${callId}`;
}

function whyNot(error: unknown): string {
  if (!(error instanceof AppError)) return 'something went wrong, so it is not allowed. The log of palyrad says what.';
  return error.fix === undefined ? error.message : `${error.message} ${error.fix}`;
}
