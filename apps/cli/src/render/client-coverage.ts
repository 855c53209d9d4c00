import type { ClientCoverage } from '../clients/probe-hooks.ts';
import type { Paint } from './paint.ts';
import { safeText } from './safe-text.ts';

/** One line for each agent that was set up, and what to do about those that are not alive. */
export function renderCoverage(clients: readonly ClientCoverage[], paint: Paint): string {
  if (clients.length === 0) return '';
  const lines = clients.map(({ client, coverage, state, says, fix }) => {
    const isDead = state === 'dead';
    const line = `  ${client.padEnd(12)} ${coverage.padEnd(9)} ${isDead ? paint('error', 'dead') : state}  ${safeText(says)}`;
    return fix === undefined ? line : `${line}\n${' '.repeat(15)}${paint('fix', 'fix:')} ${safeText(fix)}`;
  });
  return `\nAgents\n${lines.join('\n')}\n`;
}
