import { PrimitivesError } from './primitives-error.ts';

const SHOWN = '[secret]';
const WIPED = Symbol('wiped');

let read: <T>(secret: Secret<T>) => T;
let clear: (secret: Secret<Uint8Array>) => void;

/**
 * A value that redacts itself wherever values are printed: `String`, templates, `JSON.stringify`, `util.inspect`,
 * `Object.keys`, spread and `structuredClone` all miss it. `reveal` is the one way in, and easy to search for.
 *
 * JavaScript strings cannot be wiped; prefer bytes for what must not linger, and `wipeSecret` when done.
 */
export class Secret<T> {
  // SECURITY: T-24 — a private field: neither enumerable nor reachable by reflection, and no clone carries it along.
  #value: T | typeof WIPED;
  /** Never there: declarations drop the type of a private field, and a `Secret<string>` would pass for any other. */
  declare protected readonly holds: T;

  constructor(value: T) {
    this.#value = value;
    Object.freeze(this);
  }

  static {
    // What `util.inspect` and `console.log` ask for; the registered symbol spares us importing `node:util`.
    Object.defineProperty(Secret.prototype, Symbol.for('nodejs.util.inspect.custom'), { value: () => SHOWN });
    read = (secret) => {
      const value = secret.#value;
      if (value !== WIPED) return value;
      throw new PrimitivesError('primitives.secret_wiped', 'This secret was wiped and can no longer be read.', {
        fix: 'Fetch it from the vault again.',
      });
    };
    clear = (secret) => {
      if (secret.#value !== WIPED) secret.#value.fill(0);
      secret.#value = WIPED;
    };
  }

  toString(): string {
    return SHOWN;
  }

  toJSON(): string {
    return SHOWN;
  }

  [Symbol.toPrimitive](): string {
    return SHOWN;
  }
}

export type SecretText = Secret<string>;

/** The secret's bytes belong to the secret: do not keep another reference to them. */
export type SecretBytes = Secret<Uint8Array>;

/** The value itself, for the one place that needs it. Throws `PrimitivesError` once it was wiped. */
export function reveal<T>(secret: Secret<T>): T {
  return read(secret);
}

/**
 * Runs `use` with a copy of the secret as UTF-8 bytes and zeroes that copy afterwards, also when `use` fails.
 * The secret itself stays readable.
 */
export async function withSecretBytes<R>(
  secret: SecretText | SecretBytes,
  use: (bytes: Uint8Array) => R | Promise<R>,
): Promise<R> {
  const value = reveal<string | Uint8Array>(secret);
  const bytes = typeof value === 'string' ? new TextEncoder().encode(value) : value.slice();
  try {
    return await use(bytes);
  } finally {
    bytes.fill(0);
  }
}

/** Zeroes the bytes in place; every later `reveal` throws. Wiping twice is fine. */
export function wipeSecret(secret: SecretBytes): void {
  clear(secret);
}
