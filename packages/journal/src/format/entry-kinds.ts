/**
 * Every kind of entry, its version and its fields. The chain holds ids, digests, commitments, counts, enumerations and
 * names that the operator or this program gave to things; whatever a caller chose is a body beside the chain, so that it
 * can be erased (T-54).
 *
 * A field is written as the name of its type; `?` behind it: may be absent; `*`: a list, sorted as given. An array is an
 * enumeration, and one that starts with '' may be absent. Add kinds and optional fields; anything else is a new version.
 */
export const ENTRY_KINDS = {
  'log.created': {
    version: 1,
    fields: {
      root_key: 'key',
      reason: ['created', 'recovered'],
      previous_origin: 'origin?',
      previous_size: 'count?',
      previous_root: 'digest?',
    },
  },
  'key.changed': {
    version: 1,
    fields: {
      change: ['activated', 'retired'],
      role: ['checkpoint', 'attestation'],
      public_key: 'key',
      position: 'count',
      signature: 'signature',
    },
  },
  'run.started': {
    version: 1,
    fields: {
      run_id: 'id',
      session_id: 'id',
      principal: 'name',
      device_id: 'id?',
      workspace_id: 'id?',
      coverage: ['wrapped', 'hooked', 'mcp_only', 'direct'],
      separation: ['personal', 'service', 'remote'],
      policy_snapshot: 'snapshot?',
      details: 'body?',
    },
  },
  'run.ended': {
    version: 1,
    fields: {
      run_id: 'id',
      session_id: 'id',
      principal: 'name',
      outcome: ['completed', 'failed', 'cancelled', 'unknown_outcome'],
      calls: 'count',
    },
  },
  proposal: {
    version: 1,
    fields: {
      run_id: 'id',
      session_id: 'id',
      call_id: 'id',
      parent_call_id: 'id?',
      principal: 'name',
      tool: 'name',
      input: 'body',
      /** How many bytes there were, when the body was cut off at the cap. */
      input_total: 'count?',
    },
  },
  decision: {
    version: 1,
    fields: {
      run_id: 'id',
      session_id: 'id',
      call_id: 'id',
      principal: 'name',
      tool: 'name',
      decision: ['allow', 'ask', 'deny'],
      reason_code: 'name',
      policy_ids: 'name*',
      policy_set: 'digest',
      policy_snapshot: 'snapshot',
      details: 'body?',
    },
  },
  'approval.requested': {
    version: 1,
    fields: {
      run_id: 'id?',
      session_id: 'id?',
      call_id: 'id?',
      principal: 'name',
      tool: 'name?',
      approval_id: 'id',
      /** What was asked about: a body, because a plain digest of arguments could be guessed (T-54). */
      subject: 'body',
      prompt: 'body',
      expires_at: 'count',
    },
  },
  'approval.decided': {
    version: 1,
    fields: {
      run_id: 'id?',
      session_id: 'id?',
      call_id: 'id?',
      principal: 'name',
      tool: 'name?',
      approval_id: 'id',
      outcome: ['approved', 'denied', 'expired', 'cancelled'],
      scope: ['', 'once', 'session', 'timeboxed', 'always'],
      decider: 'name?',
      device_id: 'id?',
      assurance: ['', 'same_host_key', 'separate_device', 'user_verified'],
      statement: 'body?',
    },
  },
  intent: {
    version: 1,
    fields: {
      run_id: 'id',
      session_id: 'id',
      call_id: 'id',
      principal: 'name',
      tool: 'name',
      executor: 'name',
      policy_snapshot: 'snapshot',
      plan: 'body?',
    },
  },
  outcome: {
    version: 1,
    fields: {
      run_id: 'id',
      session_id: 'id',
      call_id: 'id',
      principal: 'name',
      tool: 'name',
      outcome: ['completed', 'failed', 'refused', 'timed_out', 'cancelled', 'quota_exceeded', 'unknown_outcome'],
      code: 'name?',
      exit_code: 'integer?',
      output: 'body?',
      output_total: 'count?',
    },
  },
  attestation: {
    version: 1,
    fields: {
      run_id: 'id',
      session_id: 'id',
      call_id: 'id',
      principal: 'name',
      tool: 'name',
      attestation_id: 'id',
      anchor_seq: 'count',
      anchor: 'digest',
      envelope: 'body',
      execution: 'body',
    },
  },
  grant: {
    version: 1,
    fields: {
      run_id: 'id?',
      session_id: 'id?',
      call_id: 'id?',
      principal: 'name',
      grant_id: 'id',
      approval_id: 'id?',
      change: ['issued', 'used', 'revoked', 'expired'],
      scope: ['', 'once', 'session', 'timeboxed', 'always'],
      pattern: 'body?',
      expires_at: 'count?',
    },
  },
  'secret.used': {
    version: 1,
    fields: {
      run_id: 'id?',
      session_id: 'id?',
      call_id: 'id?',
      principal: 'name',
      tool: 'name?',
      secret: 'name',
      target: 'body?',
    },
  },
  'policy.activated': {
    version: 1,
    fields: {
      policy_set: 'digest',
      previous: 'digest?',
      source: ['start', 'apply', 'auto_apply', 'always_here'],
    },
  },
  'skill.changed': {
    version: 1,
    fields: {
      skill: 'name',
      release: 'name?',
      artifact: 'digest',
      change: ['installed', 'enabled', 'disabled', 'granted', 'quarantined', 'removed'],
    },
  },
  'device.changed': {
    version: 1,
    fields: {
      device_id: 'id',
      change: ['paired', 'renewed', 'roles_changed', 'revoked'],
      kind: ['', 'operator', 'agent', 'node', 'service'],
      certificate: 'digest?',
    },
  },
  'workspace.changed': {
    version: 1,
    fields: { workspace_id: 'id', change: ['added', 'removed'], root: 'body' },
  },
  'body.erased': {
    version: 1,
    fields: { body: 'digest', reason: ['operator', 'retention', 'request'] },
  },
  'checkpoint.cosigned': {
    version: 1,
    fields: {
      size: 'count',
      root: 'digest',
      witness: 'origin',
      witness_key: 'key',
      time: 'count',
      signature: 'signature',
    },
  },
  'segment.sealed': {
    version: 1,
    fields: { first: 'count', next: 'count', root: 'digest' },
  },
  'segment.archived': {
    version: 1,
    fields: { first: 'count', next: 'count', file: 'digest' },
  },
  'segment.pruned': {
    version: 1,
    fields: { next: 'count', root: 'digest', keys: 'digest' },
  },
} as const;

export type EntryKind = keyof typeof ENTRY_KINDS;

export function isEntryKind(text: string): text is EntryKind {
  return Object.hasOwn(ENTRY_KINDS, text);
}

type FieldsOf<Kind extends EntryKind> = (typeof ENTRY_KINDS)[Kind]['fields'];

/** What a field of each type holds, in the chain. */
interface TypeOfField {
  readonly id: string;
  readonly digest: string;
  readonly body: string;
  readonly snapshot: string;
  readonly name: string;
  readonly origin: string;
  readonly key: string;
  readonly signature: string;
  readonly count: number;
  readonly integer: number;
}

type Optional<Spec> = Spec extends `${string}?` ? true : Spec extends readonly ['', ...string[]] ? true : false;

type ValueOf<Spec, Types extends object> = Spec extends readonly string[]
  ? Exclude<Spec[number], ''>
  : Spec extends `${infer Type extends keyof Types & string}?`
    ? Types[Type]
    : Spec extends `${infer Type extends keyof Types & string}*`
      ? readonly Types[Type][]
      : Spec extends keyof Types
        ? Types[Spec]
        : never;

/** The shape that a kind's fields have when each type of field is written as `Types` says. */
export type Shape<Kind extends EntryKind, Types extends object> = {
  readonly [Name in keyof FieldsOf<Kind> as Optional<FieldsOf<Kind>[Name]> extends true ? never : Name]: ValueOf<
    FieldsOf<Kind>[Name],
    Types
  >;
} & {
  readonly [Name in keyof FieldsOf<Kind> as Optional<FieldsOf<Kind>[Name]> extends true ? Name : never]?:
    | ValueOf<FieldsOf<Kind>[Name], Types>
    | undefined;
};

/** The data of an entry as it stands in the chain. */
export type EntryData<Kind extends EntryKind> = Shape<Kind, TypeOfField>;

/** The data of an entry to be: bodies are given whole, and the journal writes their commitments. */
export type DraftData<Kind extends EntryKind, Body> = Shape<Kind, Omit<TypeOfField, 'body'> & { readonly body: Body }>;
