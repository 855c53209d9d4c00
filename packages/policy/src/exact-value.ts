/**
 * The value as it may be handed to Cedar, which gets what `JSON.stringify` writes. Throws a `RangeError` or a
 * `TypeError` for what that would bend or drop: numbers that are not safe integers (give a bigint), values that are
 * no JSON, and objects that could write something else than what their properties say.
 *
 * SECURITY: T-09 — policies are left out by what the properties say, so Cedar must be told exactly the same.
 */
export function exactValue(value: unknown): unknown {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      if (Number.isSafeInteger(value)) return value;
      throw new RangeError('a number is not an integer that a double can hold');
    case 'bigint':
      return rawJson(value);
    case 'object':
      return value === null ? null : exactContainer(value);
    case 'undefined':
    case 'function':
    case 'symbol':
      throw new TypeError(`a value of type ${typeof value} is no JSON`);
  }
}

function exactContainer(value: object): unknown {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (Array.isArray(value)) {
    if (prototype !== Array.prototype) throw new TypeError('an array is not a plain array');
    return exactArray(value);
  }
  if (prototype !== Object.prototype && prototype !== null) throw new TypeError('an object is not a plain object');
  return exactRecord(value);
}

/** Copies only when it must: most requests hold no bigint. */
function exactArray(values: readonly unknown[]): unknown {
  let copy: unknown[] | undefined;
  for (let index = 0; index < values.length; index += 1) {
    const exact = exactValue(values[index]);
    if (exact === values[index]) continue;
    copy ??= [...values];
    copy[index] = exact;
  }
  return copy ?? values;
}

function exactRecord(record: object): unknown {
  let copy: Map<string, unknown> | undefined;
  for (const [key, value] of Object.entries(record)) {
    const exact = exactValue(value);
    if (exact === value) continue;
    copy ??= new Map(Object.entries(record));
    copy.set(key, exact);
  }
  return copy === undefined ? record : Object.fromEntries(copy);
}

/** `JSON.rawJSON` is of ES2026 and in Node since 22, but not yet in TypeScript's library. */
function rawJson(value: bigint): unknown {
  return (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(value.toString());
}
