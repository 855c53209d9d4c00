import { type ApprovalEvent, type CommitWithRecord, parseStatement, type SignedStatement } from '@palyra/approvals';
import type { Actor, Body, CallerDraft, Journal } from '@palyra/journal';
import { canonicalJson } from '@palyra/primitives';

type Prepare = (text: string) => Promise<Body>;

/** What the journal says about a change of an approval. A yes to one more person is in the statements of the decision. */
export async function draftsOf(events: readonly ApprovalEvent[], prepare: Prepare): Promise<readonly CallerDraft[]> {
  const drafts = await Promise.all(events.map((event) => draftOf(event, prepare)));
  return drafts.filter((draft) => draft !== undefined);
}

async function draftOf(event: ApprovalEvent, prepare: Prepare): Promise<CallerDraft | undefined> {
  switch (event.kind) {
    case 'requested': {
      const { approvalId, principal, session, run, subject, prompt, expiresAt } = event;
      return {
        kind: 'approval.requested',
        data: {
          run_id: run,
          session_id: session,
          principal,
          approval_id: approvalId,
          subject: await prepare(subject),
          prompt: await prepare(prompt),
          expires_at: expiresAt,
        },
      };
    }
    case 'voted':
      return undefined;
    case 'decided': {
      const { approvalId, principal, session, outcome, scope, statement } = event;
      const said = statement === undefined ? undefined : parseStatement(statement.text);
      return {
        kind: 'approval.decided',
        data: {
          session_id: session,
          principal,
          approval_id: approvalId,
          outcome,
          ...(scope === undefined ? {} : { scope }),
          ...(said === undefined ? {} : { decider: said.decider, assurance: said.assurance }),
          ...(said?.device == null ? {} : { device_id: said.device }),
          ...(statement === undefined ? {} : { statement: await prepare(signedText(statement)) }),
        },
      };
    }
    case 'used':
      return {
        kind: 'grant',
        data: {
          session_id: event.session,
          principal: event.principal,
          // A yes for one use is a grant of its own, spent by its first use.
          grant_id: event.approvalId,
          approval_id: event.approvalId,
          change: 'used',
          scope: 'once',
        },
      };
    case 'grant':
      return {
        kind: 'grant',
        data: {
          principal: event.principal,
          grant_id: event.grantId,
          approval_id: event.approvalId,
          change: event.change,
          expires_at: event.expiresAt,
        },
      };
  }
}

function signedText({ text, signature }: SignedStatement): string {
  return canonicalJson({ statement: text, signature: Buffer.from(signature).toString('base64') });
}

/** For `openApprovals`: its changes and what the journal says about them are one commit. */
export function commitWithJournal(journal: Journal, actor: Actor): CommitWithRecord {
  return async (unit, events) => {
    const drafts = await draftsOf(events, (text) => journal.bodies.prepare(text));
    const outcome = await journal.append(actor, drafts, {
      steps: unit.steps,
      ...(unit.notifications === undefined ? {} : { notifications: unit.notifications }),
    });
    return { kind: outcome.kind === 'appended' ? 'committed' : 'conflict' };
  };
}
