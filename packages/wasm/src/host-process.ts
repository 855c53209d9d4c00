/** A process that runs `host-program`, in the box that whoever started it made for it. */
export interface HostProcess<About> {
  /** To its standard input, in order. */
  write(bytes: Uint8Array): void;
  /** When nothing of it runs any more. */
  readonly ended: Promise<HostEnd>;
  /** Ends it; `ended` tells when it is gone. */
  kill(): void;
  /** How it is held, for whoever attests the calls. */
  readonly about: About;
}

export interface HostEnd {
  /** It used more memory than its box may. */
  readonly reason: 'memory' | 'other';
  readonly message: string;
}

export interface HostOrder {
  /** What one guest may have; the box has room for it beside the host's own. */
  readonly memoryBytes: number;
  /** Its standard output as it comes; the bytes are not written to again. */
  onOutput(bytes: Buffer): void;
}

export type StartedHost<About> =
  | { readonly kind: 'started'; readonly host: HostProcess<About> }
  | { readonly kind: 'refused'; readonly message: string; readonly fix: string | undefined };

/** Starts one. Nothing in this package starts a process. Does not throw. */
export type StartHost<About> = (order: HostOrder) => Promise<StartedHost<About>>;
