/** How long each side waits for the other. */
export interface Deadlines {
  /** For TCP and TLS together. */
  readonly handshakeMs: number;
  /** For each message that needs no human. */
  readonly stepMs: number;
  /** For the operator's word on the host. */
  readonly operatorMs: number;
  /** For the answer that follows it on the device: a little longer, so that the host's refusal still arrives. */
  readonly answerMs: number;
}

export const DEADLINES: Deadlines = {
  handshakeMs: 5_000,
  stepMs: 10_000,
  operatorMs: 120_000,
  answerMs: 150_000,
};
