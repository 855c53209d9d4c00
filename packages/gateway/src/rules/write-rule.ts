import { type ActivePolicies, PolicyError, type RuleChange, readPolicyDirectory } from '@palyra/policy';
import { type Clock, describeError } from '@palyra/primitives';
import type { RuleFiles, RuleTexts } from './rule-files.ts';
import type { RuleNotes } from './rule-note.ts';

export type RuleOutcome =
  /** It decides, or does not any more: the policies with this digest are the active ones. */
  | { readonly kind: 'in_force'; readonly id: string; readonly policySet: string; readonly wasThere: boolean }
  /** Nothing has changed. */
  | { readonly kind: 'not_written'; readonly code: string; readonly message: string; readonly fix: string | undefined };

export interface RuleTextChange {
  readonly workspace: string;
  readonly shown: string;
  readonly before: RuleTexts;
  readonly after: RuleTexts;
  readonly approvalId?: string;
}

export interface RuleWriter {
  /** One at a time. */
  inTurn<Made>(act: () => Promise<Made>): Promise<Made>;
  /** Resolves when everybody who has a turn now has had it; undefined: nobody has. */
  underWay(): Promise<void> | undefined;
  /** Why nothing can be written now: edits that nobody applied would come into force along with it. */
  whyNot(): PolicyError | undefined;
  /** Written, tested, recorded and in force, or as before. In a turn. */
  write(rule: RuleChange, texts: RuleTextChange): Promise<RuleOutcome>;
}

export interface RuleWriterDeps {
  readonly directory: string;
  readonly policies: Pick<ActivePolicies, 'applyRule' | 'appliedDigest' | 'current'>;
  readonly files: RuleFiles;
  readonly notes: RuleNotes;
  readonly clock: Clock;
}

export function createRuleWriter(deps: RuleWriterDeps): RuleWriter {
  const { policies, files, notes, clock } = deps;
  let last: Promise<void> = Promise.resolve();
  let turns = 0;
  return {
    inTurn(act) {
      turns += 1;
      const turn = last.then(act).finally(() => {
        turns -= 1;
      });
      last = turn.then(nothing, nothing);
      return turn;
    },
    underWay: () => (turns === 0 ? undefined : last),
    whyNot: () =>
      // SECURITY: T-09 — what an operator has not applied does not begin to decide with an answer to something else.
      readPolicyDirectory(deps.directory).sourceDigest === policies.appliedDigest() ? undefined : pendingEdits(),
    async write(rule, { approvalId, ...texts }) {
      const { workspace, before, after } = texts;
      const unchanged = listingWithout(deps, workspace);
      if (unchanged.digest !== policies.appliedDigest()) return notWritten(pendingEdits());
      if (before.policies === after.policies) return inForce(rule, policies, 'was there');
      const answering = approvalId === undefined ? {} : { approvalId };
      await notes.write({ at: clock.now(), ...answering, files: { id: rule.id, ...texts } });
      try {
        await files.write(workspace, after);
        const written = listingWithout(deps, workspace);
        const isAsMeant = sameTexts(files.read(workspace), after) && written.others === unchanged.others;
        if (!isAsMeant) throw pendingEdits();
        await policies.applyRule(rule, written.digest);
      } catch (error) {
        await files.write(workspace, before);
        await notes.remove();
        return notWritten(error);
      }
      await notes.remove();
      return inForce(rule, policies, 'is new');
    },
  };
}

const nothing = (): undefined => undefined;

function inForce({ id }: RuleChange, policies: RuleWriterDeps['policies'], how: 'was there' | 'is new'): RuleOutcome {
  return { kind: 'in_force', id, policySet: policies.current().digest, wasThere: how === 'was there' };
}

function notWritten(error: unknown): RuleOutcome {
  const { code, message, fix } = describeError(error);
  return { kind: 'not_written', code, message, fix };
}

/** SECURITY: T-09 — what else is in the directory, to the byte: only the rule may come into force with the rule. */
function listingWithout({ directory }: RuleWriterDeps, workspace: string) {
  const { files, tests, sourceDigest } = readPolicyDirectory(directory);
  const own = [`${workspace}+always.cedar`, `${workspace}+always.policytest.toml`].map(
    (name) => `policies/workspaces/${name}`,
  );
  const others = [...files, ...tests].filter(({ name }) => !own.includes(name));
  return { digest: sourceDigest, others: JSON.stringify(others.map(({ name, text }) => [name, text])) };
}

function sameTexts(one: RuleTexts, other: RuleTexts): boolean {
  return one.policies === other.policies && one.tests === other.tests;
}

function pendingEdits(): PolicyError {
  return new PolicyError('policy.edits_pending', 'There are edits of the policies that nobody applied yet.', {
    fix: 'Run palyra policy diff and palyra policy apply, or take the edits back.',
  });
}
