import type { Run } from '@palyra/client';
import type { AttackerEnd } from './attack-row.ts';

/** Where palyra-attacker lies in the workspace: no box has less than that, and none need have a shell. */
export const ATTACKER = './palyra-attacker';

/** As any agent's command. */
export async function makeAttempt(run: Pick<Run, 'call'>, words: readonly string[]): Promise<AttackerEnd> {
  const { outcome } = await run.call('palyra.process.run', { argv: [ATTACKER, ...words] });
  const how = 'code' in outcome ? outcome.code : `exit code ${outcome.exit_code ?? outcome.signal ?? 'unknown'}`;
  return { stdout: outcome.stdout ?? '', how };
}
