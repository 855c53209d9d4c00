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
    ...cutOff(outcome).map((line) => paint('faint', line)),
    paint(
      'faint',
      `${[decision.kind, ...byPolicies(decision.policy_ids)].join(' ')} · receipt ${call_id.slice(-6)} · entry ${attestation.journal_seq}`,
    ),
  ];
  return `${lines.join('\n')}\n`;
}

function byPolicies(ids: readonly string[]): readonly string[] {
  return ids.length === 0 ? [] : [`by ${ids.join(', ')}`];
}

function cutOff({ stdout_bytes, stderr_bytes, output_bytes }: ToolCallResult['outcome']): readonly string[] {
  const all = Object.entries({ stdout: stdout_bytes, stderr: stderr_bytes, output: output_bytes });
  return all.flatMap(([name, bytes]) =>
    bytes === undefined ? [] : [`${name} has ${bytes} bytes in all, too many to show here; the journal has them`],
  );
}
