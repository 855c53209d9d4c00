import { z } from 'zod';
import { type Decision, REASON_CODES, type ReasonCode } from './decision.ts';
import { ASSURANCES, EGRESS_MODES, type Offer, TIERS } from './obligations.ts';
import type { Assurance, Capability, EnforcedFacts, GivenApproval, PolicyRequestContext } from './request.ts';

type Texts = readonly string[] | undefined;

/** A request in the words of a test file; what is left out is in `test-request.ts`. */
export interface WrittenRequest {
  readonly principal?: string | undefined;
  readonly groups?: Texts;
  readonly action?: string | undefined;
  readonly resource?: string | undefined;
  readonly device_id?: string | undefined;
  readonly channel?: string | undefined;
  readonly session_id?: string | undefined;
  readonly run_id?: string | undefined;
  readonly workspace?: string | undefined;
  readonly coverage?: PolicyRequestContext['coverage'] | undefined;
  readonly separation?: PolicyRequestContext['separation'] | undefined;
  readonly now?: Date | undefined;
  readonly approval?: GivenApproval | undefined;
  readonly tool_name?: string | undefined;
  readonly skill_id?: string | undefined;
  readonly capabilities?: readonly Capability[] | undefined;
  readonly taints?: Texts;
  readonly enforced?: WrittenEnforced | undefined;
  readonly declared?: WrittenDeclared | undefined;
  readonly scope?: string | undefined;
  readonly own_scopes?: Texts;
  readonly is_own?: boolean | undefined;
  readonly config?: WrittenConfig | undefined;
}

export interface WrittenEnforced {
  readonly tier?: EnforcedFacts['tier'] | undefined;
  readonly egress?: EnforcedFacts['egress'] | undefined;
  readonly read_roots?: Texts;
  readonly write_roots?: Texts;
  readonly hosts?: Texts;
  readonly registry_hosts?: Texts;
  readonly client_hosts?: Texts;
  readonly private_hosts?: Texts;
  readonly secrets?: Texts;
  readonly outside_paths?: Texts;
  readonly protected_paths?: Texts;
  readonly secret_files?: Texts;
  readonly never_paths?: Texts;
  readonly never_sockets?: Texts;
  readonly upstream?: { readonly server: string; readonly definition_sha256: string } | undefined;
}

export interface WrittenDeclared {
  readonly executable?: string | undefined;
  readonly arguments?: Texts;
  readonly hosts?: Texts;
  readonly paths?: Texts;
}

interface WrittenConfig {
  readonly allowed_tools?: Texts;
  readonly allowed_skills?: Texts;
  readonly allowed_principals?: Texts;
  readonly allowed_channels?: Texts;
  readonly sensitive_capabilities?: readonly Capability[] | undefined;
}

export interface WrittenTest extends WrittenRequest {
  readonly name: string;
  readonly expect: Expectation;
}

/** Only the answer is always compared; the rest where it is said. */
export interface Expectation {
  readonly answer: Decision['kind'];
  /** Exactly these, in any order. */
  readonly policies?: Texts;
  readonly reason_code?: ReasonCode | undefined;
  readonly offer?: Offer | undefined;
  readonly tier?: EnforcedFacts['tier'] | undefined;
  readonly egress?: EnforcedFacts['egress'] | undefined;
  readonly approvers?: number | undefined;
  readonly assurance?: Assurance | undefined;
  /** In the observe preset: what the coding preset would have answered. */
  readonly observed?: Decision['kind'] | undefined;
}

export interface TestFile {
  readonly defaults: WrittenRequest;
  readonly test: readonly WrittenTest[];
}

/**
 * What a `*.policytest.toml` may say, by the names that policies use. Everything is optional but a test's name and its
 * expectation: what is not said is a process of the agent `codex` in its box that touches nothing outside.
 *
 *     [defaults]
 *     principal = "agent:codex"
 *
 *     [[test]]
 *     name = "fetching from a new host is asked"
 *     capabilities = ["process_exec", "network"]
 *     enforced.hosts = ["example.com:443"]
 *     expect = { answer = "ask", policies = ["new-host"], offer = "always" }
 */
const TEXTS = z.array(z.string()).optional();
const TEXT = z.string().optional();

const enforced = z.strictObject({
  tier: z.enum(TIERS).optional(),
  egress: z.enum(EGRESS_MODES).optional(),
  read_roots: TEXTS,
  write_roots: TEXTS,
  /** Registry, client and private hosts belong to them and need not be repeated. */
  hosts: TEXTS,
  registry_hosts: TEXTS,
  client_hosts: TEXTS,
  private_hosts: TEXTS,
  secrets: TEXTS,
  outside_paths: TEXTS,
  protected_paths: TEXTS,
  secret_files: TEXTS,
  never_paths: TEXTS,
  never_sockets: TEXTS,
  upstream: z.strictObject({ server: z.string(), definition_sha256: z.string() }).optional(),
});

const declared = z.strictObject({ executable: TEXT, arguments: TEXTS, hosts: TEXTS, paths: TEXTS });

const capability = z.enum(['process_exec', 'network', 'secrets_read', 'filesystem_write']);

const config = z.strictObject({
  allowed_tools: TEXTS,
  allowed_skills: TEXTS,
  allowed_principals: TEXTS,
  allowed_channels: TEXTS,
  sensitive_capabilities: z.array(capability).optional(),
});

const request = {
  principal: z
    .string()
    .regex(/^(?:user|agent):/, 'must be "user:NAME" or "agent:NAME"')
    .optional(),
  groups: TEXTS,
  action: TEXT,
  resource: z
    .string()
    .regex(
      /^(?:device|channel|session|run|mcp_server|tool|skill|secret|workspace):/,
      'must be "tool:NAME", or skill, secret, workspace, run, session, device, channel or mcp_server',
    )
    .optional(),
  device_id: TEXT,
  channel: TEXT,
  session_id: TEXT,
  run_id: TEXT,
  workspace: TEXT,
  coverage: z.enum(['wrapped', 'hooked', 'mcp_only', 'direct']).optional(),
  separation: z.enum(['personal', 'service', 'remote']).optional(),
  now: z
    .date()
    .refine((date) => !(Object(date).isLocal?.() ?? false), 'must say its time zone, as 2026-01-14T12:00:00Z does')
    .optional(),
  approval: z.strictObject({ assurance: z.enum(ASSURANCES), approvers: z.int().min(1).max(9).default(1) }).optional(),
  /** Calls. */
  tool_name: TEXT,
  skill_id: TEXT,
  capabilities: z.array(capability).optional(),
  taints: TEXTS,
  enforced: enforced.optional(),
  declared: declared.optional(),
  /** Memories and secrets. */
  scope: TEXT,
  own_scopes: TEXTS,
  /** Everything else. */
  is_own: z.boolean().optional(),
  /** What palyra.toml says; without it everything is on its allowlist and every capability sensitive. */
  config: config.optional(),
} as const;

const ANSWER = z.enum(['allow', 'ask', 'deny']);

const expectation = z.strictObject({
  answer: ANSWER,
  /** Exactly these, in any order. */
  policies: TEXTS,
  reason_code: z.enum(Object.keys(REASON_CODES) as [ReasonCode, ...ReasonCode[]]).optional(),
  offer: z.enum(['once', 'session', 'always']).optional(),
  tier: z.enum(TIERS).optional(),
  egress: z.enum(EGRESS_MODES).optional(),
  approvers: z.int().optional(),
  assurance: z.enum(ASSURANCES).optional(),
  /** In the observe preset: what the coding preset would have answered. */
  observed: ANSWER.optional(),
});

const test = z.strictObject({ name: z.string().min(1).max(200), ...request, expect: expectation });

export const testFileSchema: z.ZodType<TestFile> = z.strictObject({
  defaults: z.strictObject(request).default({}),
  test: z.array(test).max(5000).default([]),
});

/** The keys that may stand below a path, for hints. */
export function keysAt(path: readonly PropertyKey[]): readonly string[] {
  const inner = path.filter((segment) => typeof segment === 'string');
  if (inner.length === 0) return ['defaults', 'test'];
  const tables: Readonly<Record<string, z.ZodObject>> = { enforced, declared, config, expect: expectation };
  const named = tables[inner.at(-1) ?? ''];
  if (named !== undefined && inner.length > 1) return Object.keys(named.shape);
  return inner.length === 1 ? Object.keys(inner[0] === 'test' ? test.shape : request) : [];
}
