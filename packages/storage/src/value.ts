import { StorageError } from './storage-error.ts';

/** What both drivers store and return unchanged. Times are integers, truth is 0 or 1, JSON is text. */
export type StoredValue = string | number | Uint8Array | null;

export type Row = Readonly<Record<string, unknown>>;

/** Throws `storage.invalid_parameter` for values that one of the drivers would change, cut or refuse. */
export function checkParameters(parameters: readonly unknown[]): readonly StoredValue[] {
  return parameters.map((value, index) => checkValue(value, index + 1));
}

/** The same for what is stored before anybody can change it, and so need not be copied. */
export function checkStorable(parameters: readonly unknown[]): readonly StoredValue[] {
  let isAsItIs = true;
  for (let at = 0; at < parameters.length; at += 1) {
    const value = parameters[at];
    checkKind(value, at + 1);
    if (Object.is(value, -0)) isAsItIs = false;
  }
  return isAsItIs ? (parameters as readonly StoredValue[]) : checkParameters(parameters);
}

function checkValue(value: unknown, position: number): StoredValue {
  checkKind(value, position);
  // A copy: the caller may go on using its buffer while the unit still waits for the writer.
  if (value instanceof Uint8Array) return new Uint8Array(value);
  // Not every driver keeps the sign of zero.
  return value === 0 ? 0 : value;
}

function checkKind(value: unknown, position: number): asserts value is StoredValue {
  if (typeof value === 'string') return checkText(value, position);
  if (typeof value === 'number') return checkNumber(value, position);
  if (value === null || value instanceof Uint8Array) return;
  throw invalid(position, `a value of type ${typeof value}`, 'Store text, numbers, bytes or null.');
}

function checkText(text: string, position: number): void {
  // PostgreSQL refuses NUL in text, and UTF-8 has no lone surrogates: SQLite would store something else.
  if (!text.isWellFormed()) throw invalid(position, 'text with a lone surrogate', 'Store such text as bytes.');
  if (text.includes('\0')) throw invalid(position, 'text with a NUL character', 'Store such text as bytes.');
}

function checkNumber(value: number, position: number): void {
  if (!Number.isFinite(value)) throw invalid(position, String(value), 'Store a finite number.');
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
    throw invalid(position, 'an integer beyond 2^53 - 1', 'Store large integers as text.');
  }
}

function invalid(position: number, found: string, fix: string): StorageError {
  return new StorageError('storage.invalid_parameter', `Parameter ${position} is ${found}.`, { fix });
}
