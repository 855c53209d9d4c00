/**
 * An entry that has been checked and spelled; what is missing is its place in the log. A plain list, in the order of the
 * columns, because it is copied to the writer's thread: keys would cost as much as all the rest of appending.
 */
export type EntryFields = readonly [
  time: number,
  actor: string,
  kind: string,
  version: number,
  /** Canonical JSON. */
  data: string,
  run_id: string | null,
  session_id: string | null,
  call_id: string | null,
  principal: string,
  tool: string | null,
  outcome: string | null,
];

export interface PreparedEntry {
  readonly fields: EntryFields;
  readonly bodies: readonly PreparedBody[];
}

export interface PreparedBody {
  readonly commitment: string;
  readonly salt: Uint8Array;
  readonly bytes: number;
  readonly totalBytes: number;
  readonly content: Uint8Array | 'file';
}
