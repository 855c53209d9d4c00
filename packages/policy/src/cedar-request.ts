import { checkName, checkNames } from './canonical-names.ts';
import { checkRequest } from './check-request.ts';
import type { EvaluationRequest } from './evaluator.ts';
import { leavingsOf } from './leavings.ts';
import { PolicyError } from './policy-error.ts';
import type {
  CallFacts,
  DeclaredFacts,
  EnforcedFacts,
  EntityRef,
  PolicyEvaluationConfig,
  PolicyRequest,
  PolicyRequestContext,
  StoredFacts,
} from './request.ts';

type CedarRecord = Readonly<Record<string, unknown>>;

/** Whether the request is decided as it stands, or as if a human had approved it. */
export interface ApprovalState {
  readonly approved: boolean;
  readonly assurance: string;
}

const MOST_BYTES = 256 * 1024;

/** Throws `policy.invalid_request` for what is not canonical, of the wrong kind, or too large to be decided. */
export function toCedarRequest(
  request: PolicyRequest,
  config: PolicyEvaluationConfig,
  approval: ApprovalState,
): EvaluationRequest {
  checkRequest(request);
  const { principal, resource, groups } = request;
  const parents = checkNames('id', groups).map((id) => uid({ type: 'Group', id }));
  const context = { ...situationOf(request.context, approval), ...factsOf(request, config, approval) };
  if (isOver(MOST_BYTES, JSON.stringify(context))) {
    throw new PolicyError('policy.invalid_request', `The facts of the request are over ${MOST_BYTES / 1024} KiB.`);
  }
  const [asking, asked] = [uid(principal), uid(resource)];
  return {
    principal: asking,
    action: { type: 'Palyra::Action', id: request.action },
    resource: asked,
    context,
    entities: [
      { uid: asking, attrs: {}, parents },
      { uid: asked, attrs: {}, parents: serverOf(request) },
      ...parents.map((group) => ({ uid: group, attrs: {}, parents: [] })),
    ],
  };
}

/** As UTF-8, of which a code unit is three bytes at most. */
function isOver(most: number, text: string): boolean {
  return 3 * text.length > most && Buffer.byteLength(text) > most;
}

function uid({ type, id }: EntityRef): { type: string; id: string } {
  return { type: `Palyra::${type}`, id: checkName(type === 'Tool' ? 'tool' : 'id', id) };
}

function serverOf({ context: { facts }, resource }: PolicyRequest): readonly { type: string; id: string }[] {
  if (facts.kind !== 'call' || resource.type !== 'Tool' || facts.enforced.upstream === undefined) return [];
  return [uid({ type: 'McpServer', id: facts.enforced.upstream.server })];
}

function situationOf(context: PolicyRequestContext, { approved, assurance }: ApprovalState): CedarRecord {
  const { deviceId, sessionId, runId, channel, workspace } = context;
  const situation: Record<string, unknown> = {
    coverage: context.coverage,
    separation: context.separation,
    approved,
    assurance,
    now: { __extn: { fn: 'datetime', arg: new Date(context.now).toISOString() } },
  };
  if (deviceId !== undefined) situation['device_id'] = checkName('id', deviceId);
  if (sessionId !== undefined) situation['session_id'] = checkName('id', sessionId);
  if (runId !== undefined) situation['run_id'] = checkName('id', runId);
  if (channel !== undefined) situation['channel'] = entity({ type: 'Channel', id: channel });
  if (workspace !== undefined) situation['workspace'] = entity({ type: 'Workspace', id: workspace });
  return situation;
}

function factsOf(
  { action, principal, context }: PolicyRequest,
  config: PolicyEvaluationConfig,
  approval: ApprovalState,
): CedarRecord {
  const { facts } = context;
  switch (facts.kind) {
    case 'situation':
      return { is_own: facts.isOwn };
    case 'stored':
      return storedFacts(facts, action, approval);
    case 'call':
      return {
        ...callFacts(facts, config, approval),
        is_allowlisted_principal: isListed(principal.id, config.allowedPrincipals),
        is_allowlisted_channel: context.channel === undefined || isListed(context.channel, config.allowedChannels),
      };
  }
}

const FORGETTING: ReadonlySet<string> = new Set(['memory.delete', 'memory.purge']);

function storedFacts({ scope, ownScopes }: StoredFacts, action: string, { approved }: ApprovalState): CedarRecord {
  return {
    scope: checkName('id', scope),
    own_scopes: checkNames('id', ownScopes),
    is_sensitive_action: FORGETTING.has(action),
    allow_sensitive_tools: approved,
  };
}

function callFacts(facts: CallFacts, config: PolicyEvaluationConfig, { approved }: ApprovalState): CedarRecord {
  const { toolName, skillId, capabilities, taints, enforced, declared } = facts;
  return {
    tool_name: checkName('tool', toolName),
    ...(skillId === undefined ? {} : { skill_id: checkName('id', skillId) }),
    capabilities,
    taints: checkNames('id', taints),
    is_sensitive_action: capabilities.some((capability) => config.sensitiveCapabilities.includes(capability)),
    allow_sensitive_tools: approved,
    is_allowlisted_tool: isListed(toolName, config.allowedTools),
    is_allowlisted_skill: skillId !== undefined && isListed(skillId, config.allowedSkills),
    enforced: { ...enforcedFacts(enforced), leaves: leavingsOf(enforced, capabilities) },
    declared: declaredFacts(declared),
  };
}

function enforcedFacts(enforced: EnforcedFacts): CedarRecord {
  const { upstream } = enforced;
  const digest = upstream && checkName('sha256', upstream.definitionSha256);
  return {
    tier: enforced.tier,
    egress: enforced.egress,
    read_roots: checkNames('path', enforced.readRoots),
    write_roots: checkNames('path', enforced.writeRoots),
    hosts: checkNames('host', enforced.hosts),
    registry_hosts: checkNames('host', enforced.registryHosts),
    client_hosts: checkNames('host', enforced.clientHosts),
    private_hosts: checkNames('host', enforced.privateHosts),
    secrets: checkNames('id', enforced.secrets),
    outside_paths: checkNames('path', enforced.outsidePaths),
    protected_paths: checkNames('path', enforced.protectedPaths),
    secret_files: checkNames('path', enforced.secretFiles),
    never_paths: checkNames('path', enforced.neverPaths),
    never_sockets: checkNames('path', enforced.neverSockets),
    ...(upstream === undefined
      ? {}
      : { upstream: { server: checkName('id', upstream.server), definition_sha256: digest } }),
  };
}

/** Arguments are any text: they are not names, and only the sandbox holds a process to anything. */
function declaredFacts(declared: DeclaredFacts): CedarRecord {
  return {
    ...(declared.executable === undefined ? {} : { executable: declared.executable.toWellFormed() }),
    arguments: declared.arguments.map((argument) => argument.toWellFormed()),
    command_line: [declared.executable ?? '', ...declared.arguments].join(' ').trim().toWellFormed(),
    hosts: declared.hosts.map((host) => host.toWellFormed()),
    paths: declared.paths.map((path) => path.toWellFormed()),
  };
}

function isListed(name: string, list: readonly string[]): boolean {
  return list.some(
    (entry) => entry === '*' || entry === name || (entry.endsWith('.*') && name.startsWith(entry.slice(0, -1))),
  );
}

function entity(ref: EntityRef): CedarRecord {
  return { __entity: uid(ref) };
}
