import type { JsonObject, JsonValue } from '@palyra/primitives';
import { connectionsIn, networkInWords } from '../render/connections.ts';
import type { Paint } from '../render/paint.ts';
import { safeText } from '../render/safe-text.ts';

export interface Receipt {
  readonly call_id: string;
  readonly outcome: {
    readonly kind: string;
    readonly code?: string | undefined;
    readonly fix?: string | undefined;
    readonly output?: JsonValue | undefined;
  };
  readonly attestation: {
    readonly executor: string;
    readonly sandbox_enforcement: string;
    readonly journal_seq: number;
  };
}

const SHOWN_OF_ID = 6;

/** The one line that a person sees after their command: where it ran, for how long, what it could reach, and the proof. */
export function receiptLine({ call_id, outcome, attestation }: Receipt, tookMs: number, paint: Paint): string {
  const parts = [
    placeOf(attestation, outcome.kind),
    secondsOf(tookMs),
    networkOf(attestation, outcome.output),
    `receipt ${call_id.slice(-SHOWN_OF_ID)}`,
  ].filter((part) => part !== '');
  const mark = outcome.kind === 'completed' ? 'palyra' : `palyra ${outcome.kind}`;
  return `${paint('faint', safeText(`${mark} · ${parts.join(' · ')}`))}\n`;
}

function placeOf({ executor }: Receipt['attestation'], kind: string): string {
  if (kind === 'refused') return 'did not run';
  if (executor.includes('tier_c')) return 'in the box';
  if (executor.includes('tier_b')) return 'limits only, no box';
  return executor;
}

/** What it reached; where nothing held it, that. */
function networkOf(
  { executor, sandbox_enforcement: enforcement }: Receipt['attestation'],
  output: JsonValue | undefined,
): string {
  if (!executor.startsWith('sandbox_')) return '';
  const connections = connectionsIn((Object(output) as JsonObject)['connections']);
  const held = HELD[enforcement] ?? 'network not restricted';
  if (connections.length === 0) return held;
  const reached = networkInWords(connections);
  return enforcement === 'strict' ? reached : `${held}, ${reached}`;
}

const HELD: Readonly<Record<string, string>> = {
  strict: 'no connections',
  preflight: 'hosts looked at before, not held',
};

function secondsOf(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
}
