import { writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import type * as pinoModule from 'pino';
import { type Clock, systemClock } from './clock.ts';
import { type Loggable, loggable, loggableText } from './loggable.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** Whatever is worth searching for. Errors go under `error`; `Secret`s may be anywhere and are redacted. */
export type LogFields = Readonly<Record<string, unknown>>;

/**
 * Logging never throws: a line that cannot be written is lost, and the next one that can be says how many were, as
 * `linesLost`. It does wait: lines are written synchronously, so that the last words of a program that dies are not
 * missing, and who reads standard error slowly, or stops reading a full pipe, stops the program.
 */
export interface Logger {
  debug(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
  /** A logger whose lines all carry `fields`; a line's own fields win. */
  child(fields: LogFields): Logger;
}

export interface LogDestination {
  /** Takes one line with its newline. What it throws counts as a line lost. */
  write(line: string): void;
}

export interface LoggerOptions {
  /** The least important level that is written: `info` unless told. */
  readonly level?: LogLevel | 'silent';
  /** Standard error unless told, because standard output belongs to the program's answer. */
  readonly destination?: LogDestination;
  readonly clock?: Clock;
}

/** One JSON object a line: `level`, `time` (ISO 8601), the fields, `message`. */
export function createLogger(options: LoggerOptions = {}): Logger {
  const { level = 'info', destination = STANDARD_ERROR, clock = systemClock } = options;
  const sink = loadPino()(
    {
      level,
      base: null,
      messageKey: 'message',
      timestamp: () => `,"time":"${new Date(clock.now()).toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      // pino would take every field called `err` for an error and print it its own way.
      serializers: { err: (value: unknown) => value },
    },
    { write: (line: string) => destination.write(withinLimit(withoutTerminalControls(line))) },
  );
  return loggerWith(countingLosses(sink), {});
}

/** At the first logger: every thread loads this package, few of them log, and pino is thirty modules. */
function loadPino(): typeof pinoModule.pino {
  return (createRequire(import.meta.url)('pino') as typeof pinoModule).pino;
}

/** pino's own destination keeps what it could not write, without bound when nothing is ever written again. */
export const STANDARD_ERROR: LogDestination = {
  write(line) {
    let rest: Uint8Array = Buffer.from(line);
    while (rest.length > 0) rest = rest.subarray(writeOrWait(rest));
  },
};

const RETRY_AFTER_MS = 5;

/** How many bytes were written. A pipe that does not block says when it is full; then we wait as one that does. */
function writeOrWait(bytes: Uint8Array): number {
  try {
    return writeSync(2, bytes);
  } catch (thrown) {
    if (!(thrown instanceof Error && 'code' in thrown && thrown.code === 'EAGAIN')) throw thrown;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_AFTER_MS);
    return 0;
  }
}

type PinoSink = Record<LogLevel, (fields: object, message: string) => void> & {
  isLevelEnabled(level: string): boolean;
};

interface Sink {
  isLevelEnabled(level: LogLevel): boolean;
  write(level: LogLevel, fields: Readonly<Record<string, Loggable>>, message: string): void;
}

function countingLosses(sink: PinoSink): Sink {
  let linesLost = 0;
  return {
    isLevelEnabled: (level) => sink.isLevelEnabled(level),
    write(level, fields, message) {
      try {
        sink[level](linesLost === 0 ? fields : { ...fields, linesLost }, loggableText(message));
        linesLost = 0;
      } catch {
        linesLost += 1;
      }
    },
  };
}

function loggerWith(sink: Sink, bound: Readonly<Record<string, Loggable>>): Logger {
  const write = (level: LogLevel, fields: LogFields, message: string): void => {
    if (!sink.isLevelEnabled(level)) return;
    sink.write(level, { ...bound, ...loggableFields(fields) }, message);
  };
  return {
    debug: (fields, message) => write('debug', fields, message),
    info: (fields, message) => write('info', fields, message),
    warn: (fields, message) => write('warn', fields, message),
    error: (fields, message) => write('error', fields, message),
    // Merged here and not by pino, which writes a field of the parent and of the child as two equal keys.
    child: (fields) => loggerWith(sink, { ...bound, ...loggableFields(fields) }),
  };
}

/** The logger's own keys. pino writes a field of the same name as a second, equal key. */
const RESERVED = new Set(['level', 'time', 'message', 'linesLost']);

function loggableFields(fields: LogFields): Readonly<Record<string, Loggable>> {
  const copied = loggable(fields);
  if (typeof copied !== 'object' || copied === null || Array.isArray(copied)) return { fields: copied };
  // SECURITY: T-57 — a field named `level` would give the line two levels, and readers would differ on which counts.
  const renamed = Object.entries(copied).map(([key, value]) => [RESERVED.has(key) ? `${key}_` : key, value] as const);
  return Object.fromEntries(renamed);
}

/** The fields of one call stay below it even when every character is escaped; those of many children may not. */
const LONGEST_LINE = 1024 * 1024;

function withinLimit(line: string): string {
  if (line.length <= LONGEST_LINE) return line;
  const { level, time, linesLost, message } = JSON.parse(line);
  return withoutTerminalControls(`${JSON.stringify({ level, time, fields: '[too much]', linesLost, message })}\n`);
}

/** What terminals obey and JSON does not escape. */
const TERMINAL_CONTROLS = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** SECURITY: T-08 — logs are read in terminals. Inside JSON strings, where alone these can stand, an escape is the same text. */
function withoutTerminalControls(line: string): string {
  return line.replace(TERMINAL_CONTROLS, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
