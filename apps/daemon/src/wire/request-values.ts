import type { ContextKey, ContextValues } from '@connectrpc/connect';

/** What is known of a request, by key. As the library's own, but without three closures for each stream that stands idle. */
export function createRequestValues(): ContextValues {
  return new RequestValues();
}

class RequestValues implements ContextValues {
  [id: symbol]: unknown;

  get<T>(key: ContextKey<T>): T {
    return key.id in this ? (this[key.id] as T) : key.defaultValue;
  }

  set<T>(key: ContextKey<T>, value: T): this {
    this[key.id] = value;
    return this;
  }

  delete(key: ContextKey<unknown>): this {
    delete this[key.id];
    return this;
  }
}
