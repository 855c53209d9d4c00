import type { AttackRow } from '../attack/attack-row.ts';
import type { Paint } from './paint.ts';
import { safeText } from './safe-text.ts';

/** A line for each attempt; what came through first catches the eye. */
export function renderScorecard(rows: readonly AttackRow[], paint: Paint): string {
  const width = Math.max(...rows.map(({ id }) => id.length));
  const lines = rows.map(({ id, threat, attempt, observed, layer, status }) => {
    const mark = status === 'stopped' ? paint('fix', 'stopped') : paint('error', 'OPEN   ');
    const more = status === 'stopped' ? layer : observed;
    return `${mark}  ${id.padEnd(width)}  ${threat}  ${safeText(attempt)} ${paint('faint', `(${safeText(more)})`)}`;
  });
  const open = rows.filter(({ status }) => status === 'open').length;
  const verdict = open === 0 ? `All ${rows.length} were stopped.` : `${open} of ${rows.length} came through.`;
  return `${lines.join('\n')}\n${paint(open === 0 ? 'fix' : 'error', verdict)}\n`;
}
