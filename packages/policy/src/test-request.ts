import { visibleText } from '@palyra/primitives';
import { askableActions } from './askable-actions.ts';
import { factsFor } from './check-request.ts';
import { nearestKey } from './nearest-key.ts';
import { PolicyError } from './policy-error.ts';
import type { WrittenRequest } from './policy-test-format.ts';
import { readSchema } from './presets.ts';
import type {
  CallFacts,
  DeclaredFacts,
  EnforcedFacts,
  EntityRef,
  EntityType,
  PolicyEvaluationConfig,
  PolicyRequest,
  PolicyRequestContext,
  RequestFacts,
} from './request.ts';

/** Nothing is kept from its allowlist and every capability is sensitive: what a home without settings has. */
export const EVERYTHING_LISTED: PolicyEvaluationConfig = {
  allowedTools: ['*'],
  allowedSkills: ['*'],
  allowedPrincipals: ['*'],
  allowedChannels: ['*'],
  sensitiveCapabilities: ['process_exec', 'network', 'secrets_read', 'filesystem_write'],
};

/** Noon on a working day, so that a rule about hours has an ordinary side; a test must not depend on today. */
const ORDINARY_TIME = Date.UTC(2026, 0, 14, 12);
const ORDINARY_TOOL = 'palyra.process.run';
const TOOL_OF_SKILLS = 'palyra.wasm.run';

/** The test's own words over the file's defaults over ours. Throws `policy.invalid_test`. */
export function testRequest(defaults: WrittenRequest, written: WrittenRequest): PolicyRequest {
  const said: WrittenRequest = {
    ...defaults,
    ...written,
    enforced: { ...defaults.enforced, ...written.enforced },
    declared: { ...defaults.declared, ...written.declared },
  };
  const action = said.action ?? 'tool.execute';
  checkAction(action);
  const resource = resourceOf(said, action);
  return {
    principal: principalOf(said.principal ?? 'agent:codex'),
    groups: said.groups ?? [],
    action,
    resource,
    context: contextOf(said, factsOf(said, action, resource)),
  };
}

export function testConfig(defaults: WrittenRequest, written: WrittenRequest): PolicyEvaluationConfig {
  const said = { ...defaults.config, ...written.config };
  return {
    allowedTools: said.allowed_tools ?? EVERYTHING_LISTED.allowedTools,
    allowedSkills: said.allowed_skills ?? EVERYTHING_LISTED.allowedSkills,
    allowedPrincipals: said.allowed_principals ?? EVERYTHING_LISTED.allowedPrincipals,
    allowedChannels: said.allowed_channels ?? EVERYTHING_LISTED.allowedChannels,
    sensitiveCapabilities: said.sensitive_capabilities ?? EVERYTHING_LISTED.sensitiveCapabilities,
  };
}

const TYPES: Readonly<Record<string, EntityType>> = {
  device: 'Device',
  channel: 'Channel',
  session: 'Session',
  run: 'Run',
  mcp_server: 'McpServer',
  tool: 'Tool',
  skill: 'Skill',
  secret: 'Secret',
  workspace: 'Workspace',
};

function checkAction(action: string): void {
  const names = askableActions(readSchema()).map(({ name }) => name);
  if (names.includes(action)) return;
  const nearest = nearestKey(action, names);
  const hint = nearest === undefined ? '' : ` Did you mean ${nearest}?`;
  throw new PolicyError(
    'policy.invalid_test',
    `There is no action ${visibleText(JSON.stringify(action), { maxCharacters: 80 })}.${hint}`,
  );
}

function principalOf(written: string): PolicyRequest['principal'] {
  const [kind = '', id = ''] = split(written);
  return { type: kind === 'user' ? 'User' : 'Agent', id };
}

function resourceOf({ resource }: WrittenRequest, action: string): EntityRef {
  const written = resource ?? (action === 'tool.execute' ? `tool:${ORDINARY_TOOL}` : undefined);
  if (written === undefined) {
    throw new PolicyError('policy.invalid_test', `${action} needs a resource, such as "workspace:main".`);
  }
  const [kind = '', id = ''] = split(written);
  return { type: TYPES[kind] ?? 'Tool', id };
}

/** At the first colon: ids may hold more of them. */
function split(written: string): readonly string[] {
  const at = written.indexOf(':');
  return [written.slice(0, at), written.slice(at + 1)];
}

function contextOf(said: WrittenRequest, facts: RequestFacts): PolicyRequestContext {
  return {
    ...(said.device_id === undefined ? {} : { deviceId: said.device_id }),
    ...(said.channel === undefined ? {} : { channel: said.channel }),
    ...(said.session_id === undefined ? {} : { sessionId: said.session_id }),
    ...(said.run_id === undefined ? {} : { runId: said.run_id }),
    ...(said.workspace === undefined ? {} : { workspace: said.workspace }),
    coverage: said.coverage ?? 'mcp_only',
    separation: said.separation ?? 'personal',
    now: said.now?.getTime() ?? ORDINARY_TIME,
    ...(said.approval === undefined ? {} : { approval: said.approval }),
    facts,
  };
}

function factsOf(said: WrittenRequest, action: string, resource: EntityRef): RequestFacts {
  switch (factsFor(action)) {
    case 'call':
      return callFacts(said, resource);
    case 'stored':
      return { kind: 'stored', scope: said.scope ?? 'own', ownScopes: said.own_scopes ?? [] };
    case 'situation':
      return { kind: 'situation', isOwn: said.is_own ?? false };
  }
}

function callFacts(said: WrittenRequest, resource: EntityRef): CallFacts {
  const skillId = said.skill_id ?? (resource.type === 'Skill' ? resource.id : undefined);
  return {
    kind: 'call',
    toolName: said.tool_name ?? (resource.type === 'Tool' ? resource.id : TOOL_OF_SKILLS),
    ...(skillId === undefined ? {} : { skillId }),
    capabilities: said.capabilities ?? ['process_exec'],
    taints: said.taints ?? [],
    enforced: enforcedFacts(said.enforced ?? {}),
    declared: declaredFacts(said.declared ?? {}),
  };
}

function enforcedFacts(said: NonNullable<WrittenRequest['enforced']>): EnforcedFacts {
  const { upstream, registry_hosts = [], client_hosts = [], private_hosts = [] } = said;
  return {
    tier: said.tier ?? 'C',
    egress: said.egress ?? 'strict',
    readRoots: said.read_roots ?? [],
    writeRoots: said.write_roots ?? [],
    hosts: [...new Set([...(said.hosts ?? []), ...registry_hosts, ...client_hosts, ...private_hosts])],
    registryHosts: registry_hosts,
    clientHosts: client_hosts,
    privateHosts: private_hosts,
    secrets: said.secrets ?? [],
    outsidePaths: said.outside_paths ?? [],
    protectedPaths: said.protected_paths ?? [],
    secretFiles: said.secret_files ?? [],
    neverPaths: said.never_paths ?? [],
    neverSockets: said.never_sockets ?? [],
    ...(upstream === undefined
      ? {}
      : { upstream: { server: upstream.server, definitionSha256: upstream.definition_sha256 } }),
  };
}

function declaredFacts(said: NonNullable<WrittenRequest['declared']>): DeclaredFacts {
  return {
    ...(said.executable === undefined ? {} : { executable: said.executable }),
    arguments: said.arguments ?? [],
    hosts: said.hosts ?? [],
    paths: said.paths ?? [],
  };
}
