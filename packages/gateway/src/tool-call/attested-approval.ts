import { type Answer, type Approvals, type Permit, parseStatement, type SignedStatement } from '@palyra/approvals';
import type { AttestedApproval } from '@palyra/journal';
import { type ApprovalId, canonicalJson } from '@palyra/primitives';

const known = new WeakMap<Permit, { readonly approval: AttestedApproval | undefined }>();

/** The first of those who said yes; the others are in the journal's entries of the approval. Asked several times for a call. */
export function approvedBy(permit: Permit): AttestedApproval | undefined {
  const before = known.get(permit);
  if (before !== undefined) return before.approval;
  const [signed] = permit.statements;
  const [approvalId] = permit.approvalIds;
  const isSaid = signed !== undefined && approvalId !== undefined;
  const approval = isSaid ? attested(approvalId, 'approved', signed) : undefined;
  known.set(permit, { approval });
  return approval;
}

/** For the attestation of a refusal. Undefined when nobody signed anything. */
export async function endedWithout(
  approvalId: ApprovalId,
  answer: Extract<Answer, { readonly kind: 'denied' | 'expired' | 'cancelled' }>,
  approvals: Pick<Approvals, 'get'>,
): Promise<AttestedApproval | undefined> {
  if (answer.kind === 'denied') {
    return answer.decided === null ? undefined : attested(approvalId, 'denied', answer.decided.statement);
  }
  const { shown } = await approvals.get(approvalId);
  return { approval_id: approvalId, outcome: answer.kind, prompt_sha256: shown };
}

function attested(
  approvalId: ApprovalId,
  outcome: 'approved' | 'denied',
  { text, signature }: SignedStatement,
): AttestedApproval | undefined {
  const said = parseStatement(text);
  if (said === undefined || said.device === null) return undefined;
  return {
    approval_id: approvalId,
    outcome,
    statement: canonicalJson({ statement: text, signature: Buffer.from(signature).toString('base64') }),
    decider: said.decider,
    device_id: said.device,
    scope: said.scope,
    ...(said.pattern === null ? {} : { pattern: canonicalJson({ ...said.pattern }) }),
    prompt_sha256: said.prompt,
    assurance: said.assurance,
  };
}
