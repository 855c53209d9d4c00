import { pino } from 'pino';
import { type Clock, systemClock } from './clock.ts';
import { type Loggable, loggable } from './loggable.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** Whatever is worth searching for. Errors go under `error`; `Secret`s may be anywhere and are redacted. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Logging never throws and never waits. */
export interface Logger {
  debug(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
  /** A logger whose lines all carry `fields`; a line's own fields win. */
  child(fields: LogFields): Logger;
}

export interface LogDestination {
  /** Takes one line with its newline. */
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
  const { level = 'info', destination = pino.destination({ fd: 2, sync: true }), clock = systemClock } = options;
  const sink = pino(
    {
      level,
      base: null,
      messageKey: 'message',
      timestamp: () => `,"time":"${new Date(clock.now()).toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      // pino would take every field called `err` for an error and print it its own way.
      serializers: { err: (value: unknown) => value },
    },
    { write: (line: string) => destination.write(withoutTerminalControls(line)) },
  );
  return loggerWith(sink, {});
}

type Sink = Record<LogLevel, (fields: object, message: string) => void> & { isLevelEnabled(level: string): boolean };

function loggerWith(sink: Sink, bound: Readonly<Record<string, Loggable>>): Logger {
  const write = (level: LogLevel, fields: LogFields, message: string): void => {
    if (!sink.isLevelEnabled(level)) return;
    sink[level]({ ...bound, ...loggableFields(fields) }, message);
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
const RESERVED = new Set(['level', 'time', 'message']);

function loggableFields(fields: LogFields): Readonly<Record<string, Loggable>> {
  const copied = loggable(fields);
  if (typeof copied !== 'object' || copied === null || Array.isArray(copied)) return { fields: copied };
  // SECURITY: T-57 — a field named `level` would give the line two levels, and readers would differ on which counts.
  const renamed = Object.entries(copied).map(([key, value]) => [RESERVED.has(key) ? `${key}_` : key, value] as const);
  return Object.fromEntries(renamed);
}

/** What terminals obey and JSON does not escape. */
const TERMINAL_CONTROLS = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** SECURITY: T-08 — logs are read in terminals. Inside JSON strings, where alone these can stand, an escape is the same text. */
function withoutTerminalControls(line: string): string {
  return line.replace(TERMINAL_CONTROLS, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
