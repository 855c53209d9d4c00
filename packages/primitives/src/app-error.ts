export interface AppErrorOptions {
  /** One sentence that tells the reader what to do about it. */
  readonly fix?: string;
  /** For logs only: never shown to an agent. */
  readonly cause?: unknown;
}

/**
 * The one shape of a fault. Each package subclasses it with its own table of codes.
 * `code` is for programs and never changes; `message` is for people and holds no secrets.
 */
export class AppError<Code extends string = string> extends Error {
  readonly code: Code;
  readonly fix: string | undefined;

  constructor(code: Code, message: string, options: AppErrorOptions = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.name = new.target.name;
    this.code = code;
    this.fix = options.fix;
  }
}
