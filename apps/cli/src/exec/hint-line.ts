import { type JsonObject, type JsonValue, visibleText } from '@palyra/primitives';
import type { Paint } from '../render/paint.ts';

export interface Hinted {
  readonly outcome: { readonly kind: string; readonly output?: JsonValue | undefined };
}

/**
 * For a person whose command failed by itself: what of the sandbox was probably in its way. The likeliest guess only, the others
 * are in the JSON. Empty when there is none, and of what was ended or refused, which has a fix of its own.
 */
export function hintLine({ outcome: { kind, output } }: Hinted, paint: Paint): string {
  if (kind !== 'completed' && kind !== 'failed') return '';
  const { hints } = Object(output) as JsonObject;
  const [first] = Array.isArray(hints) ? hints : [];
  const { what, fix } = Object(first) as JsonObject;
  if (typeof what !== 'string' || typeof fix !== 'string') return '';
  return `${paint('fix', 'hint:')} ${visibleText(`${what} ${fix}`)}\n`;
}
