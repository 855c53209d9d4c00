import { visibleText } from './visible-text.ts';

/**
 * The net below every line that is printed. Messages arrive with their data made visible, and their backslashes must
 * not be doubled again; whatever else slipped through loses its power over the terminal here.
 */
export function safeText(text: string): string {
  // SECURITY: T-08 — an escape sequence in a message could repaint what was asked or answered.
  return text.replaceAll(/[^\n -~]+/g, (run) => visibleText(run));
}
