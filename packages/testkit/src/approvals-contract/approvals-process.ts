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

/** Asks, answers, and uses the answers. Acknowledges `asked ID KEY`, `approved ID KEY` and `used ID KEY`. */
export function startApprovalsProcess({
  location,
  label,
  lanes,
  count,
}: ApprovalsProcessOptions): AcknowledgingProcess {
  const script = entryUrl(import.meta.url, './approvals-worker');
  return startAcknowledgingProcess(script, [JSON.stringify(location), label, `${lanes}`, `${count}`]);
}
