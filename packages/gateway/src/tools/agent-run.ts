import { dirname } from 'node:path';
import type { JsonObject } from '@palyra/primitives';
import type { PrivateHome, SandboxProfile } from '@palyra/sandbox';
import type { Tool, ToolMetadata, ToolRefusal } from '../catalog/tool.ts';
import { nameNetwork } from '../connections/named-network.ts';
import type { PermittedCall } from '../tool-call/permitted-call.ts';
import { PROCESS_INPUT, type ProcessCommand } from './process-command.ts';
import { type AskedCommand, createCommandTool, type OpenedSession, type ProcessRunDeps } from './process-run.ts';

/** What an agent is given with its box: from what is known of it, and nothing from whoever starts it. */
export interface AgentOutfit {
  /** `host:port` of its model and its login. */
  readonly hosts: readonly string[];
  readonly home: PrivateHome;
  /** Read-only: programs that its hooks and its MCP client start. */
  readonly programs: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

export interface AgentRunDeps extends ProcessRunDeps {
  /** Undefined: no such profile. */
  outfitFor(profile: string, place: { readonly workspace: string }): AgentOutfit | undefined;
  /** Where a program that is named by its path really is, with what belongs to it; nothing of what every box shows. */
  programsOf(program: string): readonly string[];
  openSession(call: PermittedCall, profile: string): Promise<OpenedSession>;
}

export const AGENT_RUN = 'palyra.agent.run';

/** As for any other command. */
const SHARED = ['argv', 'cwd', 'network', 'egress', 'unlisted', 'stdin_open', 'terminal', 'environment'];

const METADATA: ToolMetadata = {
  name: AGENT_RUN,
  version: '1',
  description:
    'Runs a whole agent in a box, with the state and the hosts of its profile; its own tool calls are calls of this run. For palyra wrap.',
  inputSchema: {
    type: 'object',
    properties: {
      profile: { type: 'string', description: 'Which agent it is.', pattern: '^[a-z][a-z0-9-]{0,31}$' },
      ...Object.fromEntries(SHARED.map((name) => [name, (PROCESS_INPUT['properties'] as JsonObject)[name] ?? {}])),
    },
    required: ['profile', 'argv'],
    additionalProperties: false,
  },
  capabilities: ['process_exec'],
  isSensitive: true,
  tier: 'C',
  isParallel: true,
  isHidden: true,
};

/** An agent works for days; what it runs has limits of its own. */
const SESSION_MS = 7 * 24 * 3_600_000;

export function createAgentRun(deps: AgentRunDeps): Tool {
  return createCommandTool(deps, {
    metadata: METADATA,
    fit: (process, asked) => fit(process, asked, deps),
    openSession: (call) => deps.openSession(call, profileOf(call.plan.arguments as JsonObject)),
  });
}

function fit(
  process: ProcessCommand,
  { input, place }: AskedCommand,
  deps: AgentRunDeps,
): ProcessCommand | ToolRefusal {
  // SECURITY: T-06, T-41 — an agent in a box starts no other one beside it, with somebody's login and hosts of its own.
  if (place.isBoxed === true || place.coverage !== 'wrapped') return notFromHere();
  const profile = profileOf(input);
  const outfit = deps.outfitFor(profile, place);
  if (outfit === undefined) return unknownProfile();
  const [program = ''] = process.command.argv;
  const programs = [...new Set([...outfit.programs, ...deps.programsOf(program)])];
  const named = withHosts(process, outfit.hosts);
  if (named.kind === 'refused') return named;
  const variables = { ...process.command.environment, ...outfit.environment };
  return {
    ...named,
    command: { ...process.command, environment: variables },
    profile: profileFor(named.profile, { outfit, programs, names: Object.keys(variables) }),
    session: {
      clientHosts: process.network.mode === 'strict' ? canonical(outfit.hosts) : [],
      programs,
      about: {
        profile,
        state: [...outfit.home.writable],
        copied_state: [...(outfit.home.copied ?? [])],
        read_only_state: [...outfit.home.readOnly],
      },
    },
  };
}

interface Fitting {
  readonly outfit: AgentOutfit;
  readonly programs: readonly string[];
  readonly names: readonly string[];
}

function profileFor(profile: SandboxProfile, { outfit, programs, names }: Fitting): SandboxProfile {
  const isShown = (path: string) => path === profile.workspace.root || path.startsWith(`${profile.workspace.root}/`);
  return {
    ...profile,
    tier: 'C',
    home: outfit.home,
    readOnlyPaths: [...new Set([...profile.readOnlyPaths, ...programs.filter((path) => !isShown(path))])],
    environment: [...new Set([...profile.environment, ...names])],
    limits: {
      ...profile.limits,
      wallMs: SESSION_MS,
      idleMs: SESSION_MS,
      cpuMs: SESSION_MS,
      outputBytes: Number.MAX_SAFE_INTEGER,
    },
  };
}

/** Its own hosts beside those that were asked for. It has a way out in any case, for its hooks go by that, too. */
function withHosts(process: ProcessCommand, hosts: readonly string[]): ProcessCommand | ToolRefusal {
  const { network } = process;
  if (network.mode !== 'strict') return { ...process, network: { ...network, isWished: true } };
  const own = nameNetwork([...hosts], []);
  if (own.kind === 'malformed') return unknownProfile();
  const rules = [...network.rules, ...own.rules];
  const all = [...new Set([...network.hosts, ...own.hosts])];
  return {
    ...process,
    network: { ...network, rules, hosts: all, isProxied: true, isWished: true },
    profile: { ...process.profile, egress: { mode: 'strict', hosts: all } },
  };
}

function canonical(hosts: readonly string[]): readonly string[] {
  const own = nameNetwork([...hosts], []);
  return own.kind === 'named' ? own.hosts : [];
}

function profileOf({ profile }: JsonObject): string {
  return typeof profile === 'string' ? profile : '';
}

/** The outermost directory of packages that a program lies in, else the program alone. */
export function programRoot(program: string): string {
  const at = program.indexOf('/node_modules/');
  if (at !== -1) return `${program.slice(0, at)}/node_modules`;
  return dirname(program) === '/' ? '/' : program;
}

function notFromHere(): ToolRefusal {
  return {
    kind: 'refused',
    code: 'gateway.not_authorized',
    message: 'Only palyra wrap starts an agent, and not from inside of one.',
    fix: 'Run palyra wrap at a terminal outside.',
  };
}

function unknownProfile(): ToolRefusal {
  return {
    kind: 'refused',
    code: 'gateway.invalid_input',
    message: 'There is no such profile of an agent, or its hosts are none.',
    fix: 'palyra wrap --help lists them; generic fits any program.',
  };
}
