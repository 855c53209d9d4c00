/** T-24: a credential reaches a log, an error text, the journal or a printed object. */
import { inspect } from 'node:util';
import { AppError, canonicalJson, createLogger, describeError, type JsonValue, Secret } from '@palyra/primitives';
import { expect, test } from 'vitest';

const VALUE = 'sk-live-0123456789abcdef';

function logOf(fields: Readonly<Record<string, unknown>>): string {
  const lines: string[] = [];
  const log = createLogger({ level: 'debug', destination: { write: (line) => lines.push(line) } });
  log.child(fields).debug(fields, 'request failed');
  return lines.join('');
}

test('a secret in the fields of a log line, in an error or below its causes is not written', () => {
  const secret = new Secret(VALUE);
  const error = Object.assign(new Error(`401 for ${String(secret)}`, { cause: new AggregateError([{ secret }]) }), {
    request: { headers: [secret], map: new Map([[secret, secret]]) },
  });
  const log = logOf({ error, secret, deep: [{ secret: [secret] }] });
  expect(log).not.toContain(VALUE);
  expect(log).toContain('"secret":"[secret]","deep":[{"secret":["[secret]"]}]');
});

test('a credential that nobody wrapped is not written under its usual names, nor as a part of a URL', () => {
  const url = new URL(`https://user:${VALUE}@host/path?key=${VALUE}`);
  expect(logOf({ headers: { Authorization: VALUE, 'x-api-key': VALUE }, url, accessToken: VALUE })).not.toContain(
    VALUE,
  );
});

test.each([
  ['below the name of a header', { authorization: { scheme: 'Bearer', value: VALUE } }],
  ['among cookies', { cookies: { sid: VALUE }, jar: { cookies: [[VALUE]] } }],
  ['under a short name', { pwd: VALUE }],
  ['in the text of a URL', { target: `postgres://palyra:${VALUE}@db/palyra` }],
  ['in the text of an error', { error: new Error(`connect postgres://palyra:${VALUE}@db failed`) }],
  ['behind a date that speaks for itself', { at: Object.assign(new Date(0), { toISOString: () => VALUE }) }],
  ['behind a list that speaks for itself', { list: Object.assign([1], { slice: () => [VALUE] }) }],
])('a credential that nobody wrapped is not written %s', (_where, fields) => {
  expect(logOf(fields)).not.toContain(VALUE);
});

test('a secret does not print itself', () => {
  const secret = new Secret(VALUE);
  const printed = [
    String(secret),
    JSON.stringify({ secret }),
    inspect({ secret }, { showHidden: true, depth: 9 }),
    inspect(secret, { customInspect: false, showHidden: true, depth: 9 }),
    inspect(structuredClone(secret), { showHidden: true }),
    JSON.stringify(Object.getOwnPropertyDescriptors(secret)),
    new TypeError(`bad key ${String(secret)}`).message,
  ];
  expect(printed.filter((text) => text.includes(VALUE))).toEqual([]);
});

test('a secret cannot enter canonical JSON, and so no digest, journal entry or prompt', () => {
  const value = { args: { key: new Secret(VALUE) } } as unknown as JsonValue;
  expect(() => canonicalJson(value)).toThrow(
    expect.objectContaining({ code: 'primitives.not_json', message: 'The value at /args/key is not a plain object.' }),
  );
});

test('the text of a foreign error and the cause of ours are not told to a client', () => {
  const foreign = new Error(`connect postgres://palyra:${VALUE}@db failed`);
  const ours = new AppError('demo.unavailable', 'The database does not answer.', { cause: foreign });
  expect(JSON.stringify([describeError(foreign), describeError(ours), describeError(VALUE)])).not.toContain(VALUE);
});
