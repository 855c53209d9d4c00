/** A running proxy, as the sandbox's `Gate` is one. */
export interface GateLink {
  /** To its stdin, with back-pressure. */
  write(bytes: Uint8Array): Promise<void>;
  /** Its stdout. */
  onOutput(listener: (bytes: Uint8Array) => void): void;
  readonly ended: Promise<void>;
  close(): Promise<void>;
}
