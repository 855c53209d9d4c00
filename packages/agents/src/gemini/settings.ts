import type { JsonObject } from '@palyra/primitives';
import { readSettings } from '../own-rules/listed-rules.ts';

/** Gemini takes settings with comments. Throws `agents.unknown_format`. */
export function readCommented(text: string): JsonObject {
  return readSettings(withoutComments(text));
}

export function withoutComments(text: string): string {
  return text.replaceAll(
    /("(?:[^"\\]|\\[\s\S]?)*(?:"|$))|\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/g,
    (_all, quoted: string | undefined) => quoted ?? '',
  );
}
