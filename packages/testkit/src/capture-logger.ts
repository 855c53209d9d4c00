import { createLogger, type Logger, type LogLevel } from '@palyra/primitives';

/** A line as it would have been written, without its time. */
export interface CapturedLine {
  readonly level: LogLevel;
  readonly message: string;
  readonly [field: string]: unknown;
}

export interface CaptureLogger {
  readonly logger: Logger;
  /** In the order they were written. */
  readonly lines: readonly CapturedLine[];
}

/** The real logger with a list for a destination, so that a test sees what redaction and escaping leave. */
export function createCaptureLogger(level: LogLevel = 'debug'): CaptureLogger {
  const lines: CapturedLine[] = [];
  const logger = createLogger({
    level,
    destination: {
      write(line) {
        const { time: _time, ...rest } = JSON.parse(line);
        lines.push(rest);
      },
    },
  });
  return { logger, lines };
}
