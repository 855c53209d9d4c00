import { type ChangePlan, describeChanges, realChanges, refuseTooMuch } from './change-plan.ts';
import { looksBinary } from './open-file.ts';
import type { FileToolName, InspectOutput } from './protocol.ts';
import type { Workplace } from './workplace.ts';

/** More than a diff is made of, and less than an answer may hold. */
const MOST_PRESENT_BYTES = 256 * 1024;

/** What would change, without changing it. Throws `FileFailure` for more than may change at once. */
export function describePlan(
  workplace: Workplace,
  plan: ChangePlan,
  tool: FileToolName,
): Pick<InspectOutput, 'changes' | 'present'> {
  const changes = realChanges(plan.changes);
  refuseTooMuch(workplace, changes);
  const [first] = changes;
  return {
    changes: describeChanges(changes),
    present: tool === 'palyra.fs.write' ? textOf(first?.before?.bytes) : null,
  };
}

function textOf(bytes: Buffer | undefined): string | null {
  if (bytes === undefined || bytes.length > MOST_PRESENT_BYTES || looksBinary(bytes)) return null;
  const text = bytes.toString('utf8');
  return Buffer.from(text).equals(bytes) ? text : null;
}
