import type { Client as RpcClient } from '@connectrpc/connect';
import type { PolicyService } from '@palyra/api';
import type { JsonValue } from '@palyra/primitives';
import { json, said, time } from '../wire/plain.ts';
import { ask } from './call.ts';

export interface ActivePolicies {
  readonly policy_set_sha256: string;
  /** `coding`, `locked` or `observe`. */
  readonly preset: string;
  /** The files on disk say something else, which waits for `apply`. */
  readonly has_pending_edits: boolean;
  readonly policies: readonly { readonly policy_id: string; readonly file: string; readonly text: string }[];
}

export interface AppliedPolicies {
  readonly policy_set_sha256: string;
  readonly previous_sha256: string;
  readonly changed: boolean;
}

/** A rule for a workspace. */
export interface WrittenRule {
  readonly rule_id: string;
  /** Cedar. */
  readonly text: string;
}

export interface RememberedRule extends WrittenRule {
  readonly workspace_id: string;
  /** In words. */
  readonly says: string;
  readonly written_at?: string;
}

export interface NewRule {
  /** As `palyra allow` takes it, such as `host:example.org:443`. */
  readonly rule: string;
  readonly workspace: string;
  /** Only say what would be written. */
  readonly dryRun?: boolean;
}

export interface Policies {
  get(): Promise<ActivePolicies>;
  /** What the files on disk would newly allow or deny. */
  diff(): Promise<JsonValue>;
  /** Makes the files on disk decide. */
  apply(): Promise<AppliedPolicies>;
  /** What would be decided about a request, and why. */
  explain(request: JsonValue): Promise<JsonValue>;
  allow(rule: NewRule): Promise<WrittenRule>;
  rules(): Promise<readonly RememberedRule[]>;
  removeRule(id: string): Promise<void>;
}

export function createPolicies(rpc: RpcClient<typeof PolicyService>): Policies {
  return {
    async get() {
      const { policySetSha256, preset, hasPendingEdits, policies } = await ask(rpc.getPolicies({}));
      return {
        policy_set_sha256: policySetSha256,
        preset,
        has_pending_edits: hasPendingEdits,
        policies: policies.map(({ policyId, file, text }) => ({ policy_id: policyId, file, text })),
      };
    },
    async diff() {
      const { diffJson } = await ask(rpc.diffPolicies({}));
      return json(diffJson) ?? null;
    },
    async apply() {
      const { policySetSha256, previousSha256, changed } = await ask(rpc.applyPolicies({}));
      return { policy_set_sha256: policySetSha256, previous_sha256: previousSha256, changed };
    },
    async explain(request) {
      const { explanationJson } = await ask(rpc.explainRequest({ requestJson: JSON.stringify(request) }));
      return json(explanationJson) ?? null;
    },
    async allow({ rule, workspace, dryRun = false }) {
      const { ruleId, text } = await ask(rpc.allowRule({ rule, workspace, dryRun }));
      return { rule_id: ruleId, text };
    },
    async rules() {
      const { rules } = await ask(rpc.listRules({}));
      return rules.map(({ ruleId, workspaceId, text, says, writtenAt }) =>
        said<RememberedRule>({ rule_id: ruleId, workspace_id: workspaceId, text, says, written_at: time(writtenAt) }),
      );
    },
    async removeRule(ruleId) {
      await ask(rpc.removeRule({ ruleId }));
    },
  };
}
