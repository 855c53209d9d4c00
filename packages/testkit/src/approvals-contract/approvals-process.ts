import { entryUrl } from '@palyra/primitives';
import type { DatabaseOptions } from '@palyra/storage';
import { type AcknowledgingProcess, startAcknowledgingProcess } from '../acknowledging-process.ts';

export interface ApprovalsProcessOptions {
  readonly location: DatabaseOptions['location'];
  /** Its questions are of the principal `agent:LABEL LANE`. */
  readonly label: string;
  readonly lanes: number;
  /** How many calls each lane makes, one after the other. */
  readonly count: number;
}

/**
 * Calls that end in every way, in turn: `approved` and `used`, `denied`, `granted` (another card is released with it) and
 * `revoked`, `cancelled`, `expired`. Acknowledges each of these, and `asked` before, as `STEP ID KEY`.
 */
export function startApprovalsProcess({
  location,
  label,
  lanes,
  count,
}: ApprovalsProcessOptions): AcknowledgingProcess {
  const script = entryUrl(import.meta.url, './approvals-worker');
  return startAcknowledgingProcess(script, [JSON.stringify(location), label, `${lanes}`, `${count}`]);
}
