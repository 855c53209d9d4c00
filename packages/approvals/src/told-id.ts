import { type ApprovalId, parseId } from '@palyra/primitives';

/** Undefined for what cannot be the id of an approval: on PostgreSQL every login may notify, with whatever it likes. */
export function toldId(payload: string): ApprovalId | undefined {
  try {
    return parseId('approval', payload);
  } catch {
    return undefined;
  }
}
