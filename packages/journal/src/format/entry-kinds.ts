export type { DraftData, EntryData } from './entry-data.ts';

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
      /** Why it did not end by itself. */
      reason: ['', 'cancelled', 'stopped', 'too_many_refusals', 'shutdown'],
    },
  },
  /** Whoever wrote it stopped the open runs of this principal; absent: of everybody. */
  'runs.stopped': { version: 1, fields: { principal: 'name?', runs: 'count' } },
  /** Files are put back; `begun` before any is touched. */
  'run.undo': {
    version: 1,
    fields: {
      run_id: 'id',
      session_id: 'id',
      /** Absent: all calls of the run. */
      call_id: 'id?',
      principal: 'name',
      stage: ['begun', 'ended'],
      /** Where it begun stands. */
      begun: 'count?',
      outcome: ['', 'undone', 'stopped'],
      code: 'name?',
      restored: 'count?',
      skipped: 'count?',
      /** Which files, and why others were left. */
      files: 'body?',
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
  /** A running call connects to a host that it did not name (`target`: `host:port`); `ask`: held while a human is asked. */
  'connection.decided': {
    version: 1,
    fields: {
      run_id: 'id',
      session_id: 'id',
      call_id: 'id',
      principal: 'name',
      decision: ['allow', 'ask'],
      policy_ids: 'name*',
      policy_snapshot: 'snapshot',
      approval_id: 'id?',
      target: 'body',
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
      /** Every connection of the call, one by one, where its attestation has no room for them. */
      connections: 'body?',
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
      /** With `always_here`: the one rule that differs. */
      rule: 'name?',
      change: ['', 'added', 'removed'],
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
  'token.changed': {
    version: 1,
    fields: { token_id: 'id', change: ['created', 'revoked'], purpose: ['access', 'enrolment'], principal: 'name' },
  },
  'authority.changed': {
    version: 1,
    fields: { change: ['prepared', 'activated', 'retired'], authority: 'digest' },
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
