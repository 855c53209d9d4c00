import { checkPreflight, type EgressCall, formatHostRule } from '@palyra/egress';
import {
  type Clock,
  canonicalJson,
  type JsonObject,
  type JsonValue,
  type Sha256Hex,
  sha256OfJson,
} from '@palyra/primitives';
import type { Binding, Limits, Refusal, Sandbox, SandboxProfile } from '@palyra/sandbox';
import type { BoundCall, CallPlace, Tool, ToolMetadata, ToolPlan, ToolRefusal } from '../catalog/tool.ts';
import type { BindCredentials } from '../connections/bound-credentials.ts';
import { type CallNetworkDeps, wantsWayOut } from '../connections/call-network.ts';
import { DEFAULT_OPERATOR_NETWORK, type OperatorNetwork } from '../connections/operator-network.ts';
import type { Redactor } from '../redact/create-redactor.ts';
import type { PermittedCall } from '../tool-call/permitted-call.ts';
import {
  asRefusal,
  beginCommand,
  type CommandDeps,
  type PreparedCommand,
  type ReadyCommand,
  readyCommand,
} from './begin-command.ts';
import { commandOf, PROCESS_INPUT, type ProcessCommand, type ProcessInput } from './process-command.ts';
import { declaredBy, enforcedBy } from './process-facts.ts';

export interface ProcessRunDeps {
  readonly sandbox: Pick<Sandbox, 'plan' | 'bind' | 'run'>;
  /** What the operator lets commands of this workspace do. */
  profileFor(workspace: string): SandboxProfile;
  /** For outputs; without it they are passed on as they are. */
  readonly redact?: Pick<Redactor, 'redactBytes' | 'redactStream' | 'redactTerminal'>;
  readonly clock: Clock;
  /** The way out of the box; absent: there is none. */
  readonly egress?: CallNetworkDeps['egress'];
  readonly network?: OperatorNetwork;
  /** Which hosts get a credential that the tool never sees; absent: none. */
  readonly credentials?: BindCredentials;
}

const METADATA: ToolMetadata = {
  name: 'palyra.process.run',
  version: '1',
  description:
    'Runs a program in the workspace, in a box: what it may not reach is not there. The network is behind a proxy that lets through the hosts that it names, and asks a human about others. Its exit code, stdout and stderr are the answer.',
  inputSchema: PROCESS_INPUT,
  capabilities: ['process_exec'],
  isSensitive: true,
  tier: 'C',
  isParallel: false,
  isHidden: false,
};

/** One kind of tool that runs a program: what is added to the command, and what it gets while it runs. */
export interface CommandKind {
  readonly metadata: ToolMetadata;
  /** The command that is looked at, decided and run, from the one that was asked for. */
  fit(process: ProcessCommand, asked: AskedCommand): ProcessCommand | ToolRefusal;
  /** Of a session: whoever answers where it asks for palyrad itself. Closed when it is over. */
  openSession?(call: PermittedCall): Promise<OpenedSession>;
}

export interface AskedCommand {
  readonly input: JsonObject;
  readonly place: CallPlace;
}

export interface OpenedSession {
  door: NonNullable<EgressCall['door']>;
  close(): Promise<void>;
}

export function createProcessRun(deps: ProcessRunDeps): Tool {
  return createCommandTool(deps, { metadata: METADATA, fit: (process) => process });
}

export function createCommandTool(deps: ProcessRunDeps, kind: CommandKind): Tool {
  const { sandbox, profileFor, network: operator = DEFAULT_OPERATOR_NETWORK } = deps;
  const begin: CommandDeps = { ...deps, operator };
  return {
    metadata: kind.metadata,
    ...(kind.openSession === undefined ? {} : { isSession: true as const }),
    async plan(input, place) {
      const operators = { profile: profileFor(place.workspace), network: operator };
      const asked = commandOf(input as unknown as ProcessInput, operators, place);
      if (asked.kind === 'refused') return asked;
      const process = kind.fit(asked, { input, place });
      if (process.kind === 'refused') return process;
      const unfit = refusePreflight(process);
      if (unfit !== undefined) return unfit;
      const { command, profile } = process;
      const laidOut = { wayOut: wantsWayOut(process.network, begin) };
      const planned = await sandbox.plan(command, profile, laidOut);
      if (planned.kind === 'refused') return asRefusal(planned);
      const enforced = enforcedBy({ process, planned, registryHosts: operator.registryHosts });
      const facts = { enforced, declared: declaredBy(process, planned), executor: planned.plan.executor };
      const binding: PreparedCommand['binding'] = {};
      const bind = async () => {
        if (process.session !== undefined) return NOTHING_BOUND;
        binding.made ??= sandbox.bind(command, profile, laidOut);
        return boundOf(await binding.made, process);
      };
      return planOf(kind.metadata, { process, binding }, { ...facts, bind });
    },
    // A session's way out leads to whoever answers it, too, and that is known when it has begun.
    ...(kind.openSession === undefined ? { makeReady: (call) => readyCommand(call, begin) } : {}),
    async execute(call, context) {
      await using session = new AsyncDisposableStack();
      const opened = await kind.openSession?.(call);
      if (opened !== undefined) session.defer(opened.close);
      const around = opened === undefined ? context : { ...context, door: opened.door };
      const ready = context.ready as ReadyCommand | undefined;
      const begun = await (ready?.take(context) ?? beginCommand(call, around, begin));
      return begun.kind === 'refused' ? begun : await begun.result;
    },
  };
}

/** SECURITY: T-21 — before it starts: what it declares and what can be recognised in its arguments. Not held afterwards. */
function refusePreflight({ command, network }: ProcessCommand): ToolRefusal | undefined {
  if (network.mode !== 'preflight') return undefined;
  const [denial] = checkPreflight({ argv: command.argv, declared: [], rules: network.rules });
  if (denial === undefined) return undefined;
  return { kind: 'refused', code: 'gateway.egress_denied', message: denial.message, fix: denial.fix };
}

type PlanFacts = Pick<ToolPlan, 'enforced' | 'declared' | 'executor' | 'bind'>;

function planOf({ name }: ToolMetadata, prepared: PreparedCommand, facts: PlanFacts): ToolPlan {
  const { process } = prepared;
  const { command, profile } = process;
  const { tier } = profile;
  const profileDigest = digestOf(process);
  const { mode, hosts } = process.network;
  const isOpen = mode !== 'strict' || hosts.length > 0;
  return {
    kind: 'planned',
    arguments: argumentsOf(process),
    capabilities: isOpen ? ['process_exec', 'network'] : ['process_exec'],
    ...facts,
    profile: profileDigest,
    shown: shownOf(name, process),
    cwd: command.cwd,
    limits: limitsOf(profile.limits),
    printed: {
      argv: command.argv,
      cwd: command.cwd,
      tier,
      profile: profile as unknown as JsonObject,
      egress: networkOf(process),
      profile_sha256: profileDigest,
      environment: Object.keys(command.environment ?? {}).toSorted(),
    },
    prepared,
  };
}

/** Everything that the caller chose, with what it is when nothing was said. */
function argumentsOf({ command, profile, stdin, isAttachable, network, session }: ProcessCommand): JsonValue {
  return {
    argv: command.argv,
    cwd: command.cwd,
    sandbox: profile.tier === 'C' ? 'strict' : 'limits',
    network: network.hosts,
    egress: network.mode,
    unlisted: network.unlisted,
    environment: command.environment ?? {},
    timeout_ms: profile.limits.wallMs,
    ...(session === undefined ? {} : { ...session.about, client_hosts: session.clientHosts }),
    ...(stdin === undefined ? {} : { stdin }),
    ...(isAttachable ? { stdin_open: true } : {}),
    ...(command.terminal === undefined ? {} : { terminal: { ...command.terminal } }),
  };
}

/** All of it, schemes included, which the list of hosts does not say. */
function networkOf({ network: { mode, rules, unlisted } }: ProcessCommand): JsonObject {
  return { mode, rules: rules.map(formatHostRule), unlisted };
}

/** SECURITY: T-03 — the whole profile, not what is known of it today: what is added later is in the digest, too. */
function digestOf(process: ProcessCommand): Sha256Hex {
  const { command, profile } = process;
  return sha256OfJson({
    profile: profile as unknown as JsonObject,
    egress: networkOf(process),
    cwd: command.cwd,
    environment: command.environment ?? {},
    ...(command.terminal === undefined ? {} : { terminal: { ...command.terminal } }),
  });
}

/** SECURITY: T-08 — a program that is fed, or set by variables, does more than its command line says: all of it is shown. */
function shownOf(name: string, process: ProcessCommand): ToolPlan['shown'] {
  const { argv, environment = {} } = process.command;
  const isFed = process.stdin !== undefined || process.isAttachable;
  if (!isFed && Object.keys(environment).length === 0) return { kind: 'command', argv };
  return { kind: 'call', name, arguments: canonicalJson(argumentsOf(process)) };
}

const TYPED = 'What is typed into it while it runs is not bound: whoever is attached decides that later.';

const NOTHING_BOUND: BoundCall = {
  kind: 'bound',
  bound: [],
  notBound: [TYPED, 'The agent’s program is not bound: it is what is installed when it starts.'],
};

const NOT_HELD = 'Its hosts were looked at before it starts; nothing holds it to them while it runs.';

/** SECURITY: T-08 — a yes to a shell is a yes to whatever is typed into it, and the approver is told. */
function boundOf(binding: Binding | Refusal, { isAttachable, network }: ProcessCommand): BoundCall | ToolRefusal {
  if (binding.kind === 'refused') return asRefusal(binding);
  const isLookedAtOnly = network.mode === 'preflight';
  return {
    kind: 'bound',
    bound: binding.files.map(({ path, sha256 }) => ({ name: path, sha256: sha256 as Sha256Hex })),
    notBound: [
      ...(isAttachable ? [TYPED] : []),
      ...(isLookedAtOnly ? [NOT_HELD] : []),
      ...binding.unbound.map(({ why }) => why),
    ],
  };
}

/** `wallMs` as `wall_ms`. */
function limitsOf(limits: Limits): ToolPlan['limits'] {
  const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.fromEntries(Object.entries(limits).map(([name, limit]) => [snake(name), limit]));
}
