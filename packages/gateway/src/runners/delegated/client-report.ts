import type { JsonValue } from '@palyra/primitives';

/** What an agent says became of its own tool. Nobody but the agent knows: it is attested as the agent's word. */
export interface ClientReport {
  readonly kind: 'completed' | 'failed';
  readonly output: JsonValue;
}

/** Where the report of one call arrives. */
export interface ClientReports {
  /** Undefined: nobody will report any more. */
  next(signal: AbortSignal): Promise<ClientReport | undefined>;
}
