/** One way in which the sandbox that was started is not the one that was planned. */
export interface Finding {
  /** A sentence for a person. */
  readonly what: string;
  readonly expected: string;
  readonly found: string;
}
