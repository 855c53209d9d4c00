/** An entity of the schema, without its namespace: `{ type: 'User', id: 'ada' }`. */
export interface EntityRef {
  readonly type: EntityType;
  readonly id: string;
}

export type EntityType =
  | 'User'
  | 'Agent'
  | 'Group'
  | 'Device'
  | 'Channel'
  | 'Session'
  | 'Run'
  | 'McpServer'
  | 'Tool'
  | 'Skill'
  | 'Secret'
  | 'Workspace';

/** May this principal do this to that, here and now? Everything in it was proven or planned, nothing merely claimed. */
export interface PolicyRequest {
  readonly principal: EntityRef & { readonly type: 'User' | 'Agent' };
  /** Names of the principal's groups, from the server's registry. */
  readonly groups: readonly string[];
  /** One of the schema's actions, such as `tool.execute`. */
  readonly action: string;
  readonly resource: EntityRef;
  readonly context: PolicyRequestContext;
}

export interface PolicyRequestContext {
  readonly deviceId?: string;
  readonly channel?: string;
  readonly sessionId?: string;
  readonly runId?: string;
  readonly workspace?: string;
  readonly coverage: 'wrapped' | 'hooked' | 'mcp_only' | 'direct';
  readonly separation: 'personal' | 'service' | 'remote';
  /** Milliseconds since the Unix epoch. */
  readonly now: number;
  /** An answer that a human gave to this very request; absent when nobody was asked. */
  readonly approval?: GivenApproval;
  readonly facts: RequestFacts;
}

export interface GivenApproval {
  readonly assurance: Assurance;
  /** How many different people said yes. */
  readonly approvers: number;
}

export type Assurance = 'same_host_key' | 'separate_device' | 'user_verified';

/** What is known of the request beyond who and where; the kind follows from the action. */
export type RequestFacts = CallFacts | StoredFacts | SituationFacts;

/** For `tool.execute` and `skill.execute`. */
export interface CallFacts {
  readonly kind: 'call';
  readonly toolName: string;
  readonly skillId?: string;
  readonly capabilities: readonly Capability[];
  readonly taints: readonly string[];
  readonly enforced: EnforcedFacts;
  readonly declared: DeclaredFacts;
}

export type Capability = 'process_exec' | 'network' | 'secrets_read' | 'filesystem_write';

/** What the sandbox plan really holds. Permits may rely on it. */
export interface EnforcedFacts {
  readonly tier: 'A' | 'B' | 'C' | 'built_in' | 'client' | 'none';
  readonly egress: 'none' | 'preflight' | 'strict';
  readonly readRoots: readonly string[];
  readonly writeRoots: readonly string[];
  /** `host:port`, as the proxy will allow them. */
  readonly hosts: readonly string[];
  readonly registryHosts: readonly string[];
  readonly clientHosts: readonly string[];
  readonly privateHosts: readonly string[];
  readonly secrets: readonly string[];
  readonly outsidePaths: readonly string[];
  readonly protectedPaths: readonly string[];
  readonly secretFiles: readonly string[];
  readonly neverPaths: readonly string[];
  readonly neverSockets: readonly string[];
  readonly upstream?: { readonly server: string; readonly definitionSha256: string };
}

/** What the arguments say. It explains; nothing holds a process to it. */
export interface DeclaredFacts {
  readonly executable?: string;
  readonly arguments: readonly string[];
  readonly hosts: readonly string[];
  readonly paths: readonly string[];
}

/** For `memory.*` and `vault.*`. */
export interface StoredFacts {
  readonly kind: 'stored';
  readonly scope: string;
  readonly ownScopes: readonly string[];
}

/** For everything else. */
export interface SituationFacts {
  readonly kind: 'situation';
  /** The run, session or device acted on is the principal's own. */
  readonly isOwn: boolean;
}

/** What the operator configured; from it the flags of the first design are derived. */
export interface PolicyEvaluationConfig {
  /** Names, or prefixes that end in `.*`; `*` is everything. */
  readonly allowedTools: readonly string[];
  readonly allowedSkills: readonly string[];
  readonly allowedPrincipals: readonly string[];
  readonly allowedChannels: readonly string[];
  /** Capabilities that make a call sensitive, whatever it does with them. */
  readonly sensitiveCapabilities: readonly Capability[];
}

/** How a call leaves the box; the presets ask by these. */
export type Leaving =
  | 'host'
  | 'registry'
  | 'client_host'
  | 'open_network'
  | 'secret'
  | 'upstream'
  | 'protected_file'
  | 'secret_file'
  | 'outside_path'
  | 'limits_only'
  | 'unboxed';
