import { visibleText } from '@palyra/primitives';

/** What a human writes in a line or two; more of it would be a way to fill an agent's context. */
export const MOST_REASON = 1_000;

/** SECURITY: T-08 — the column can be written by others than the human: the agent reads plain text of a known length. */
export function shownReason(reason: string | null): string | null {
  return reason === null ? null : visibleText(reason, { maxCharacters: MOST_REASON });
}
