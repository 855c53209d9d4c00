import {
  type AlwaysHere,
  type Approvals,
  type DecideOutcome,
  parseStatement,
  type SignedStatement,
} from '@palyra/approvals';
import {
  type ActivePolicies,
  type AlwaysHereRule,
  type AskedEffect,
  alwaysHereRule,
  PolicyError,
  parsePolicyTests,
  parseRule,
  rulesIn,
} from '@palyra/policy';
import { type Clock, describeError } from '@palyra/primitives';
import type { Database } from '@palyra/storage';
import type { ToolPlan } from '../catalog/tool.ts';
import { GatewayError } from '../gateway-error.ts';
import { requireMay } from '../runs/may-do.ts';
import type { GatewaySchema } from '../store/gateway-schema.ts';
import type { Caller, Workspace } from '../tool-call/proposed-call.ts';
import { effectsOfRule, fitsRule, ruleEffectOf } from './rule-effect.ts';
import { createRuleFiles, type RuleTexts, withoutRule, withRule } from './rule-files.ts';
import { createRuleNotes } from './rule-note.ts';
import { createRuleWriter, type RuleOutcome, type RuleWriter } from './write-rule.ts';

/** A rule as people look through them. */
export interface RememberedRule {
  readonly id: string;
  readonly workspace: string;
  /** Cedar. */
  readonly text: string;
  /** In words; null while it is not in force. */
  readonly reason: string | null;
  readonly isActive: boolean;
}

/** What became of an answer, and of the rule that it asked for. */
export type AnsweredOutcome = DecideOutcome & { readonly rule?: RuleOutcome };

export interface AllowRequest {
  readonly workspace: Workspace;
  /** `host:example.org:443`, `secret-file:.env`, …: `RULE_FORMS`. */
  readonly rule: string;
  readonly by: Caller;
}

/** Answers for good: each one a tested Cedar rule in a file of its workspace. People make them, never agents. */
export interface RememberedRules {
  /** Whether an answer for good to a call of this plan could be written as a rule that lets the next one pass. */
  canWrite(plan: ToolPlan, workspace: Workspace): boolean;
  /** Resolves when what is being written decides; undefined: nothing is. Whoever asks before that asks in vain. */
  underWay(): Promise<void> | undefined;
  /** As of `Approvals`; with `always` the rule is written and in force when this resolves, or `rule` says why not. */
  decide(...args: Parameters<Approvals['decide']>): Promise<AnsweredOutcome>;
  record(signed: SignedStatement): Promise<AnsweredOutcome>;
  /**
   * Without a question. Throws `policy.invalid_request` for what is no rule or is not offered for good,
   * `gateway.not_authorized` for agents and for people who may not apply policies.
   */
  allow(request: AllowRequest): Promise<RuleOutcome>;
  /** Throws `gateway.not_authorized`. */
  list(by: Caller, workspace?: string): readonly RememberedRule[];
  /** Throws `policy.invalid_request` when there is none, `gateway.not_authorized`. */
  remove(by: Caller, id: string): Promise<RuleOutcome>;
}

export interface RememberedRulesDeps {
  /** Absolute: `$PALYRA_HOME/policies`. */
  readonly directory: string;
  readonly policies: ActivePolicies;
  readonly approvals: Pick<Approvals, 'decide' | 'record' | 'supersede'>;
  readonly database: Pick<Database<GatewaySchema>, 'read'>;
  readonly clock: Clock;
  readonly registryHosts?: readonly string[];
  readonly clientHosts?: readonly string[];
}

export function createRememberedRules(deps: RememberedRulesDeps): RememberedRules {
  const { directory, policies, approvals, registryHosts = [], clientHosts = [] } = deps;
  const files = createRuleFiles(directory);
  const notes = createRuleNotes(directory);
  const writer = createRuleWriter({ ...deps, files, notes });
  const writeAnswered = async (always: AlwaysHere, by: string, approvalId: string): Promise<RuleOutcome> => {
    const root = await rootOf(always.workspace, deps);
    const effect = root === undefined ? undefined : ruleEffectOf(always.effects, { root, registryHosts, clientHosts });
    if (effect === undefined) return notWritten(new GatewayError('gateway.fault', 'No rule says just this.'));
    return add({ effect, workspace: always.workspace, by, approvalId }, writer, deps);
  };
  const answer = (
    { approvalId, by }: { readonly approvalId: string; readonly by: string },
    act: () => Promise<DecideOutcome>,
  ): Promise<AnsweredOutcome> =>
    writer.inTurn(async () => {
      // Before anything is decided: a yes for good that turns out to be one for once is not what the human said.
      const unapplied = writer.whyNot();
      if (unapplied !== undefined) return { kind: 'refused', code: 'not_offered', reason: unapplied.message };
      await notes.write({ at: deps.clock.now(), approvalId });
      try {
        const outcome = await act();
        if (outcome.kind !== 'decided' || outcome.alwaysHere === undefined) return outcome;
        return { ...outcome, rule: await writeAnswered(outcome.alwaysHere, by, approvalId) };
      } finally {
        await notes.remove();
      }
    });

  return {
    canWrite: (plan, { root }) => fitsRule(plan, { root, registryHosts, clientHosts }),
    underWay: () => writer.underWay(),
    async decide(id, said) {
      const act = () => approvals.decide(id, said);
      if (said.decision !== 'approve' || said.scope !== 'always') return act();
      return answer({ approvalId: id, by: said.by.person }, act);
    },
    async record(signed) {
      const said = parseStatement(signed.text);
      const act = () => approvals.record(signed);
      if (said?.decision !== 'approve' || said.scope !== 'always') return act();
      return answer({ approvalId: said.approval_id, by: said.decider }, act);
    },
    async allow({ workspace, rule: text, by }) {
      requireMay(by, { action: 'policy.apply', resource: { type: 'Workspace', id: workspace.id } }, deps);
      const effect = parseRule({ text, workspaceRoot: workspace.root, registryHosts });
      refuseUnlessOffered(makeRule(effect, workspace.id), deps);
      return writer.inTurn(() => add({ effect, workspace: workspace.id, by: by.actor }, writer, deps));
    },
    list(by, only) {
      requireMay(by, { action: 'grant.list', resource: { type: 'Session', id: 'all' } }, deps);
      const active = new Map(policies.current().policies.map((policy) => [policy.id, policy]));
      return files
        .workspaces()
        .filter((workspace) => only === undefined || workspace === only)
        .flatMap((workspace) =>
          rulesIn(files.read(workspace).policies ?? '').map(({ id, text }) => {
            const reason = active.get(id)?.reason ?? null;
            return { id, workspace, text, reason, isActive: active.has(id) };
          }),
        );
    },
    async remove(by, id) {
      requireMay(by, { action: 'grant.revoke', resource: { type: 'Session', id: 'all' } }, deps);
      return writer.inTurn(async () => {
        const workspace = files.workspaces().find((each) => holds(files.read(each), id)) ?? '';
        const before = workspace === '' ? { policies: null, tests: null } : files.read(workspace);
        const after = withoutRule(before, id);
        return writer.write({ id, change: 'removed', by: by.actor }, { workspace, shown: id, before, after });
      });
    },
  };
}

interface Adding {
  readonly effect: AskedEffect;
  readonly workspace: string;
  readonly by: string;
  readonly approvalId?: string;
}

/** In the turn of whoever calls. */
async function add(
  { effect, workspace, by, approvalId }: Adding,
  writer: RuleWriter,
  { directory, approvals }: RememberedRulesDeps,
): Promise<RuleOutcome> {
  try {
    const rule = makeRule(effect, workspace);
    const before = createRuleFiles(directory).read(workspace);
    const after = withRule(before, rule);
    const noted = { workspace, shown: rule.reason, before, after, ...(approvalId === undefined ? {} : { approvalId }) };
    const outcome = await writer.write({ id: rule.id, change: 'added', by }, noted);
    // Whoever waits decides anew, and finds the rule.
    if (outcome.kind === 'in_force') await approvals.supersede({ workspace, effects: effectsOfRule(effect) });
    return outcome;
  } catch (error) {
    return notWritten(error);
  }
}

function notWritten(error: unknown): RuleOutcome {
  const { code, message, fix } = describeError(error);
  return { kind: 'not_written', code, message, fix };
}

function makeRule(effect: AskedEffect, workspace: string): AlwaysHereRule {
  return alwaysHereRule({ workspace, effect, offer: 'always' });
}

function holds({ policies }: RuleTexts, id: string): boolean {
  return rulesIn(policies ?? '').some((rule) => rule.id === id);
}

/** What the rule is for must be a question that offers it for good today: neither free already nor more than that. */
function refuseUnlessOffered(rule: AlwaysHereRule, { policies }: RememberedRulesDeps): void {
  const origin = { kind: 'workspace', workspace: rule.workspace } as const;
  const [example] = parsePolicyTests([{ name: rule.id, text: rule.testText, origin }]);
  if (example === undefined) throw new PolicyError('policy.invalid_test', 'The rule has no example.');
  const { kind, obligations, reason } = policies.decide(example.request);
  if (kind === 'allow' || obligations.offer === 'always') return;
  const sentence = kind === 'deny' ? reason : 'The policies ask about it each time, and do not offer it for good.';
  throw new PolicyError('policy.invalid_request', sentence, {
    fix: 'Approve it when it is asked, or write a policy by hand: docs/reference/policy.md.',
  });
}

/** As the server knew it when it last began a run there. */
async function rootOf(workspace: string, { database }: RememberedRulesDeps): Promise<string | undefined> {
  const row = await database.read
    .selectFrom('gateway_runs')
    .select('workspace_root')
    .where('workspace', '=', workspace)
    .orderBy('started_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row?.workspace_root;
}
