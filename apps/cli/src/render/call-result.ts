import type { ToolCallResult } from '@palyra/client';
import type { Paint } from './paint.ts';
import { safeText } from './safe-text.ts';

/** One call for a person: how it ended, what it gave, where the proof is. */
export function renderResult({ call_id, decision, outcome, attestation }: ToolCallResult, paint: Paint): string {
  const good = outcome.kind === 'completed';
  const head = good ? paint('fix', 'completed') : paint('error', `${outcome.kind}[${outcome.code}]:`);
  const lines = [
    good ? head : `${head} ${safeText(outcome.message)}`,
    ...(good || outcome.fix === undefined ? [] : [`${paint('fix', 'fix:')} ${safeText(outcome.fix)}`]),
    ...(outcome.output === undefined ? [] : [safeText(JSON.stringify(outcome.output, null, 2))]),
    ...(outcome.stdout === undefined ? [] : [safeText(outcome.stdout).trimEnd()]),
    ...(outcome.stderr === undefined ? [] : [safeText(outcome.stderr).trimEnd()]),
    paint(
      'faint',
      `${decision.kind} by ${decision.policy_ids.join(', ')} · receipt ${call_id.slice(-6)} · entry ${attestation.journal_seq}`,
    ),
  ];
  return `${lines.join('\n')}\n`;
}
