import type { EntityType, PolicyRequest, RequestFacts } from './request.ts';

/** A fact by the name that policies have for it: `principal.type`, `groups`, `context.enforced.hosts`. */
export type SketchFacts = Readonly<Record<string, FactValue>>;
export type FactValue = string | number | boolean | readonly string[];

/** A request as the few facts that are not ordinary; what is not said is as quiet as can be. */
export interface RequestSketch {
  readonly action: string;
  readonly facts: SketchFacts;
}

/** Noon on a working day, so that rules about hours have an ordinary side. */
export const ORDINARY_TIME: number = Date.UTC(2026, 0, 14, 12);

const ORDINARY = {
  principal: 'agent',
  tool: 'example.tool',
  skill: 'example-skill',
  resource: 'example',
} as const;

/** Agent in its box, alone, nothing leaves. Facts that do not belong to the action are left out. */
export function requestFromSketch({ action, facts }: RequestSketch): PolicyRequest {
  const text = (name: string) => (typeof facts[name] === 'string' ? facts[name] : undefined);
  const resourceType = (text('resource.type') ?? ordinaryResource(action)) as EntityType;
  const now = facts['context.now'];
  return {
    principal: {
      type: text('principal.type') === 'User' ? 'User' : 'Agent',
      id: text('principal.id') ?? ORDINARY.principal,
    },
    groups: list(facts, 'groups'),
    action,
    resource: { type: resourceType, id: text('resource.id') ?? ordinaryId(resourceType, text) },
    context: {
      ...given('deviceId', text('context.device_id')),
      ...given('channel', text('context.channel')),
      ...given('sessionId', text('context.session_id')),
      ...given('runId', text('context.run_id')),
      ...given('workspace', text('context.workspace')),
      coverage: (text('context.coverage') ?? 'mcp_only') as PolicyRequest['context']['coverage'],
      separation: (text('context.separation') ?? 'personal') as PolicyRequest['context']['separation'],
      now: typeof now === 'number' ? now : ORDINARY_TIME,
      facts: factsFor(action, facts),
    },
  };
}

/** The other way round: the facts in which a request differs from the ordinary one. A given approval is not among them. */
export function sketchOfRequest(request: PolicyRequest): RequestSketch {
  const { action } = request;
  const ordinary = flatFacts(requestFromSketch({ action, facts: {} }));
  const facts = Object.entries(flatFacts(request)).filter(
    ([name, value]) => JSON.stringify(ordinary[name]) !== JSON.stringify(value),
  );
  return { action, facts: Object.fromEntries(facts) };
}

function flatFacts({ principal, resource, groups, context }: PolicyRequest): SketchFacts {
  const { approval: _, facts, ...situation } = context;
  const { kind: __, ...known } = facts;
  return Object.fromEntries([
    ...leaves({ principal, resource, groups }, ''),
    ...leaves(situation, 'context.'),
    ...leaves(known, 'context.'),
  ]);
}

function leaves(record: object, prefix: string): readonly (readonly [string, FactValue])[] {
  return Object.entries(record).flatMap(([key, value]: [string, unknown]) => {
    const name = `${prefix}${key.replaceAll(/[A-Z0-9]+/g, (part) => `_${part.toLowerCase()}`)}`;
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return [[name, value as FactValue] as const];
    return leaves(value, `${name}.`);
  });
}

type ReadText = (name: string) => string | undefined;

function ordinaryResource(action: string): EntityType {
  if (action.startsWith('tool.')) return 'Tool';
  if (action.startsWith('skill.')) return 'Skill';
  if (action.startsWith('vault.')) return 'Secret';
  if (action.startsWith('run.') || action.startsWith('approval.')) return 'Run';
  if (action.startsWith('grant.')) return 'Session';
  return action.startsWith('device.') ? 'Device' : 'Workspace';
}

function ordinaryId(type: EntityType, text: ReadText): string {
  if (type === 'Tool') return text('context.tool_name') ?? ORDINARY.tool;
  return type === 'Skill' ? (text('context.skill_id') ?? ORDINARY.skill) : ORDINARY.resource;
}

function kindOfFacts(action: string): RequestFacts['kind'] {
  if (action === 'tool.execute' || action === 'skill.execute') return 'call';
  return action.startsWith('memory.') || action.startsWith('vault.') ? 'stored' : 'situation';
}

function factsFor(action: string, facts: SketchFacts): RequestFacts {
  const kind = kindOfFacts(action);
  switch (kind) {
    case 'situation':
      return { kind, isOwn: facts['context.is_own'] === true };
    case 'stored': {
      const scope = facts['context.scope'];
      return {
        kind,
        scope: typeof scope === 'string' ? scope : ORDINARY.resource,
        ownScopes: list(facts, 'context.own_scopes'),
      };
    }
    case 'call':
      return callFacts(action, facts);
  }
}

function callFacts(action: string, facts: SketchFacts): RequestFacts {
  const text = (name: string) => (typeof facts[name] === 'string' ? facts[name] : undefined);
  const enforced = (name: string) => list(facts, `context.enforced.${name}`);
  const isSkill = action === 'skill.execute';
  const skillId = text('context.skill_id') ?? (isSkill ? (text('resource.id') ?? ORDINARY.skill) : undefined);
  const special = [...enforced('registry_hosts'), ...enforced('client_hosts'), ...enforced('private_hosts')];
  const server = text('context.enforced.upstream.server');
  const digest = text('context.enforced.upstream.definition_sha256');
  return {
    kind: 'call',
    toolName: text('context.tool_name') ?? (isSkill ? undefined : text('resource.id')) ?? ORDINARY.tool,
    ...given('skillId', skillId),
    capabilities: list(facts, 'context.capabilities') as [],
    taints: list(facts, 'context.taints'),
    enforced: {
      tier: (text('context.enforced.tier') ?? 'C') as 'C',
      egress: (text('context.enforced.egress') ?? 'strict') as 'strict',
      readRoots: enforced('read_roots'),
      writeRoots: enforced('write_roots'),
      // The special hosts are among the hosts: a plan where they are not cannot be made.
      hosts: [...new Set([...enforced('hosts'), ...special])],
      registryHosts: enforced('registry_hosts'),
      clientHosts: enforced('client_hosts'),
      privateHosts: enforced('private_hosts'),
      secrets: enforced('secrets'),
      outsidePaths: enforced('outside_paths'),
      protectedPaths: enforced('protected_paths'),
      secretFiles: enforced('secret_files'),
      neverPaths: enforced('never_paths'),
      neverSockets: enforced('never_sockets'),
      ...(server === undefined && digest === undefined
        ? {}
        : { upstream: { server: server ?? 'example', definitionSha256: digest ?? '0'.repeat(64) } }),
    },
    declared: {
      ...given('executable', text('context.declared.executable')),
      arguments: list(facts, 'context.declared.arguments'),
      hosts: list(facts, 'context.declared.hosts'),
      paths: list(facts, 'context.declared.paths'),
    },
  };
}

function list(facts: SketchFacts, name: string): readonly string[] {
  const value = facts[name];
  return Array.isArray(value) ? (value as readonly string[]) : [];
}

function given<Key extends string>(key: Key, value: string | undefined): { readonly [key in Key]?: string } {
  return value === undefined ? {} : ({ [key]: value } as { readonly [key in Key]?: string });
}
