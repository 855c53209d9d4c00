import { type Clock, canonicalJson, type JsonObject, type Sha256Hex, sha256OfJson } from '@palyra/primitives';
import {
  BOUND_TO_NOTHING,
  type CallPlace,
  type Tool,
  type ToolMetadata,
  type ToolPlan,
  type ToolResult,
} from '../../catalog/tool.ts';
import type { ChangeLog } from '../../tools/change-log.ts';
import { protectedInBox } from '../../tools/protected-in-box.ts';
import type { ClientReports } from './client-report.ts';
import { CAPABILITIES, DELEGATED_ACTS, type DelegatedAct, enforcedBy } from './delegated-facts.ts';
import { DELEGATED_INPUT, type DelegatedInput } from './delegated-input.ts';
import { createKeepEdits, type KeepEdits } from './keep-edits.ts';
import { createLocatePath, type NeverPlaces } from './locate-path.ts';

export interface DelegatedToolDeps {
  readonly clock: Clock;
  readonly never: NeverPlaces;
  /** Where what agents' own tools overwrite is kept; absent: that cannot be undone. */
  readonly changes?: ChangeLog;
}

const EXECUTOR = 'client_reported';

const DESCRIPTIONS: Readonly<Record<DelegatedAct, string>> = {
  read: 'An agent’s own tool that reads files.',
  write: 'An agent’s own tool that changes files.',
  fetch: 'An agent’s own tool that fetches a page.',
  shell: 'A command that an agent runs itself, because its program takes no other one from a hook.',
  upstream: 'A tool of an MCP server that the agent is connected to itself.',
  unknown: 'An agent’s own tool that is not known here.',
};

/** `agent.read`, `agent.write`, …: decided before the agent does it, and attested as the agent reports it. */
export function createDelegatedTools(deps: DelegatedToolDeps): readonly Tool[] {
  const locate = createLocatePath(deps.never);
  const keep: KeepEdits =
    deps.changes === undefined ? async () => async () => {} : createKeepEdits({ changes: deps.changes, locate });
  return DELEGATED_ACTS.map((act): Tool => {
    const metadata = metadataOf(act);
    return {
      metadata,
      isDelegated: true,
      async plan(given, place) {
        const input = given as unknown as DelegatedInput;
        const enforced = await enforcedBy(act, input, { place, locate });
        if (enforced === undefined) {
          return { kind: 'refused', code: 'gateway.invalid_input', message: 'It names no page.', fix: undefined };
        }
        // SECURITY: T-02, T-15 — its box keeps such files as they are: a yes would be a yes to what is put back at the end.
        if (enforced.tier === 'C' && act === 'write' && enforced.protectedPaths.length > 0) return protectedInBox();
        const prepared: Prepared = { paths: act === 'write' ? input.paths : [], place };
        return planOf(metadata, input, { enforced, wallMs: place.timeoutMs, prepared });
      },
      async execute({ run, plan }, { signal, report }) {
        const { paths, place } = plan.prepared as Prepared;
        // Before the agent is waited for: only then it is told that it may.
        const settle = await keep(paths, place);
        const result = await reported(deps.clock, { coverage: run.caller.coverage, signal, report });
        // Of a tool that nobody reported it is not known when it was over: what is in its files by now may be a person's.
        if (result.kind !== 'unknown_outcome') await settle();
        return result;
      },
    };
  });
}

interface Prepared {
  readonly paths: readonly string[];
  readonly place: CallPlace;
}

function metadataOf(act: DelegatedAct): ToolMetadata {
  return {
    name: `agent.${act}`,
    version: '1',
    description: DESCRIPTIONS[act],
    inputSchema: DELEGATED_INPUT,
    capabilities: CAPABILITIES[act],
    isSensitive: act !== 'read',
    tier: 'client',
    isParallel: true,
    isHidden: true,
  };
}

interface PlanFacts {
  readonly enforced: ToolPlan['enforced'];
  readonly wallMs: number;
  readonly prepared: Prepared;
}

function planOf(
  { capabilities, name }: ToolMetadata,
  input: DelegatedInput,
  { enforced, wallMs, prepared }: PlanFacts,
): ToolPlan {
  const profile = profileOf(enforced.tier);
  const { client, tool, arguments: given, ...rest } = input;
  return {
    kind: 'planned',
    arguments: { client, tool, arguments: given, ...(rest as JsonObject) },
    capabilities,
    enforced,
    declared: { arguments: [], hosts: enforced.hosts, paths: input.paths },
    bind: async () => ({ ...BOUND_TO_NOTHING, notBound: [NOT_BOUND] }),
    profile,
    // Spelled when somebody is asked: of most calls nobody is.
    get shown() {
      // SECURITY: T-08 — all of it: what a tool writes is in its arguments.
      const all = canonicalJson({ ...rest, arguments: given });
      return { kind: 'call' as const, name: `${client}: ${tool}`, arguments: all };
    },
    cwd: null,
    limits: { wall_ms: wallMs },
    executor: EXECUTOR,
    printed: {
      tool: name,
      client,
      client_tool: tool,
      paths: input.paths,
      tier: enforced.tier,
      profile_sha256: profile,
    },
    prepared,
  };
}

type Tier = ToolPlan['enforced']['tier'];

const profiles = new Map<Tier, Sha256Hex>();

/** There are as many as tiers, and each call has one. */
function profileOf(tier: Tier): Sha256Hex {
  const profile = profiles.get(tier) ?? sha256OfJson({ tier, executor: EXECUTOR });
  profiles.set(tier, profile);
  return profile;
}

const NOT_BOUND = 'The agent does this itself: that it does just this, and to these files, is its own word.';

interface Reported {
  readonly coverage: Parameters<Tool['execute']>[0]['run']['caller']['coverage'];
  readonly signal: AbortSignal;
  readonly report: ClientReports | undefined;
}

/** The agent has its permission now. Whatever it says afterwards is attested as what it says. */
async function reported(clock: Clock, { coverage, signal, report }: Reported): Promise<ToolResult> {
  const startedAt = clock.now();
  const told = await report?.next(signal);
  const endedAt = clock.now();
  const ran = {
    executor: EXECUTOR,
    enforcement: coverage === 'wrapped' ? ('box' as const) : ('none' as const),
    sandbox: {},
    resources: { wall_ms: Math.max(0, endedAt - startedAt) },
    egress: [],
    startedAt,
    endedAt,
  };
  if (told === undefined) {
    return { kind: 'unknown_outcome', code: 'gateway.not_reported', message: NOT_REPORTED, ran };
  }
  if (told.kind === 'completed') return { kind: 'completed', output: told.output, ran };
  return { kind: 'failed', code: 'gateway.client_failed', message: CLIENT_FAILED, output: told.output, ran };
}

const NOT_REPORTED = 'The agent was allowed to do it, and never said what became of it.';
const CLIENT_FAILED = 'The agent says that it failed.';
