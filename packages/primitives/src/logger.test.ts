import { spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Clock } from './clock.ts';
import { createLogger, type Logger, type LoggerOptions } from './logger.ts';
import { parseJson } from './parse-json.ts';
import { PrimitivesError } from './primitives-error.ts';
import { Secret } from './secret.ts';

const clock: Clock = { now: () => 0, sleep: () => Promise.resolve() };

/** A logger and the lines it wrote, read by our strict parser: two equal keys would be an error. */
function recorded(options: LoggerOptions = {}): { log: Logger; raw: string[]; lines: () => unknown[] } {
  const raw: string[] = [];
  const log = createLogger({ clock, destination: { write: (line) => raw.push(line) }, ...options });
  return { log, raw, lines: () => raw.map((line) => parseJson(line, { largeIntegers: 'nearest' })) };
}

/** What one field is logged as. */
function logged(value: unknown): unknown {
  const { log, lines } = recorded();
  log.info({ value }, 'seen');
  return (lines()[0] as { value: unknown }).value;
}

test('a line is one JSON object with level, time, fields and message', () => {
  const { log, raw } = recorded();
  log.warn({ runId: '01ARYZ6S41TSV4RRFFQ69G5FAV', attempt: 2 }, 'run is late');
  expect(raw).toEqual([
    '{"level":"warn","time":"1970-01-01T00:00:00.000Z","runId":"01ARYZ6S41TSV4RRFFQ69G5FAV","attempt":2,"message":"run is late"}\n',
  ]);
});

test('levels below the chosen one are not written', () => {
  const { log, lines } = recorded({ level: 'warn' });
  log.debug({}, 'a');
  log.info({}, 'b');
  log.warn({}, 'c');
  log.error({}, 'd');
  expect(lines()).toEqual([expect.objectContaining({ message: 'c' }), expect.objectContaining({ message: 'd' })]);
});

test('a silent logger writes nothing', () => {
  const { log, raw } = recorded({ level: 'silent' });
  log.error({}, 'a');
  expect(raw).toEqual([]);
});

test('a child adds its fields, and the nearest value of a name wins without a second key', () => {
  const { log, lines } = recorded();
  log.child({ a: 1, b: 1 }).child({ b: 2, c: 2 }).info({ c: 3 }, 'x');
  expect(lines()).toEqual([{ level: 'info', time: '1970-01-01T00:00:00.000Z', a: 1, b: 2, c: 3, message: 'x' }]);
});

test('fields cannot replace the level, the time or the message', () => {
  const { log, lines } = recorded();
  log.child({ level: 'debug' }).error({ time: 'never', message: 'all is well' }, 'it broke');
  expect(lines()).toEqual([
    {
      level: 'error',
      time: '1970-01-01T00:00:00.000Z',
      level_: 'debug',
      time_: 'never',
      message_: 'all is well',
      message: 'it broke',
    },
  ]);
});

test('errors are told with code, fix, stack and causes', () => {
  const cause = Object.assign(new TypeError('bad'), { errno: -2 });
  const error = new PrimitivesError('primitives.not_json', 'It is not JSON.', { fix: 'Mend it.', cause });
  expect(logged(error)).toEqual({
    name: 'PrimitivesError',
    message: 'It is not JSON.',
    code: 'primitives.not_json',
    fix: 'Mend it.',
    stack: error.stack,
    cause: { name: 'TypeError', message: 'bad', errno: -2, stack: cause.stack },
  });
});

test('the errors inside an aggregate are told', () => {
  expect(logged(new AggregateError([new Error('one')], 'many'))).toMatchObject({
    message: 'many',
    errors: [{ name: 'Error', message: 'one' }],
  });
});

test('a field called err is told like any other', () => {
  const { log, lines } = recorded();
  log.info({ err: { message: 'x', secret: new Secret('hunter2') } }, 'y');
  expect(lines()).toEqual([expect.objectContaining({ err: { message: 'x', secret: '[secret]' } })]);
});

test.each([
  ['a missing value', { a: undefined }, {}],
  ['a bigint', 12n, '12'],
  ['a number that JSON lacks', [Number.NaN, Number.NEGATIVE_INFINITY], ['NaN', '-Infinity']],
  ['a function', () => 1, '[function]'],
  ['a symbol', Symbol('s'), 'Symbol(s)'],
  ['a date', new Date(0), '1970-01-01T00:00:00.000Z'],
  ['no date', new Date(Number.NaN), 'Invalid Date'],
  ['bytes', new Uint8Array(12), '[12 bytes]'],
  ['a set', new Set([1, 'a']), [1, 'a']],
  [
    'a map',
    new Map<unknown, unknown>([
      ['a', 1],
      [{}, 2],
    ]),
    { a: 1, '[key 1]': 2 },
  ],
  ['a URL', new URL('https://u:p@host:8443/path?token=x#y'), 'https://host:8443/path'],
  ['half a surrogate pair', 'a\ud800', 'a\ufffd'],
  ['a toJSON method', { toJSON: () => 'hidden', a: 1 }, { toJSON: '[function]', a: 1 }],
])('%s is told in a way JSON can hold', (_what, value, expected) => {
  expect(logged(value)).toEqual(expected);
});

test('cycles, depth, length and number of values are bounded', () => {
  const cycle: Record<string, unknown> = {};
  cycle['self'] = cycle;
  const deep = { a: { a: { a: { a: { a: { a: 1 } } } } } };
  const wide = Array.from({ length: 64 }, () => Array.from({ length: 64 }, () => ({ a: [1] })));
  expect([
    logged(cycle),
    logged(deep),
    logged(Array.from({ length: 100 }, () => 1)),
    logged('x'.repeat(10_000)),
    JSON.stringify(logged(wide)).length < 50_000,
  ]).toEqual([
    { self: '[circular]' },
    { a: { a: { a: { a: { a: '[too deep]' } } } } },
    [...Array.from({ length: 64 }, () => 1), '[36 more]'],
    `${'x'.repeat(8192)}[1808 more]`,
    true,
  ]);
});

test('a value that cannot be read does not stop the line', () => {
  const hostile = {
    get trap(): never {
      throw new Error('no');
    },
  };
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  expect([logged(hostile), logged(proxy)]).toEqual(['[unreadable]', '[unreadable]']);
});

test('terminal controls never reach the line, and are still there for who parses it', () => {
  const { log, raw, lines } = recorded();
  log.info({ value: '\u009b2J\u001b[2J\u202e\u2028\u007f' }, 'msg\u009b\n');
  expect(raw[0]?.slice(0, -1)).toMatch(/^[\x20-\x7e]+$/);
  expect(lines()).toEqual([
    expect.objectContaining({ value: '\u009b2J\u001b[2J\u202e\u2028\u007f', message: 'msg\u009b\n' }),
  ]);
});

test('whatever is logged, each call writes exactly one line that a strict parser reads', () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.string(), fc.anything({ withBigInt: true, withDate: true, withMap: true })),
      fc.string({ unit: 'binary' }),
      (fields, message) => {
        const { log, raw, lines } = recorded();
        log.child(fields).info(fields, message);
        expect(raw.length).toBe(1);
        expect(raw[0]?.indexOf('\n')).toBe((raw[0]?.length ?? 0) - 1);
        expect(lines()).toEqual([expect.objectContaining({ level: 'info' })]);
      },
    ),
  );
});

test('a secret anywhere in any value is never written', () => {
  const value = 'hunter2-hunter2';
  const holder = fc.letrec((tie) => ({
    any: fc.oneof(
      { maxDepth: 5 },
      fc.constant(new Secret(value)),
      fc.array(tie('any'), { maxLength: 3 }),
      fc.dictionary(fc.string({ maxLength: 4 }), tie('any'), { maxKeys: 3 }),
      tie('any').map((inner) => new Map([[inner, inner]])),
      tie('any').map((inner) => new Set([inner])),
      tie('any').map((inner) => new Error('failed', { cause: inner })),
      tie('any').map((inner) => Object.assign(new Error(`failed: ${String(new Secret(value))}`), { request: inner })),
    ),
  })).any;
  fc.assert(
    fc.property(holder, (field) => {
      const { log, raw } = recorded();
      log.child({ field }).error({ field, nested: [{ field }] }, `with ${String(new Secret(value))}`);
      expect(raw.join('')).not.toContain(value);
    }),
  );
});

test.each(['password', 'pwd', 'accessToken', 'API_KEY', 'x-api-key', 'Authorization', 'set-cookie', 'clientSecret'])(
  'text called %s is taken for a secret that was not wrapped',
  (name) => {
    const { log, lines } = recorded();
    log.info({ headers: { [name]: 'hunter2' }, many: { [name]: ['hunter2'] } }, 'x');
    expect(lines()).toEqual([
      expect.objectContaining({ headers: { [name]: '[redacted]' }, many: { [name]: ['[redacted]'] } }),
    ]);
  },
);

test('what lies below the name of a secret is taken for a part of it, however deep', () => {
  const fields = { authorization: { scheme: { value: 'hunter2' } }, cookies: { sid: 'hunter2', n: 1 }, after: 'seen' };
  const { log, lines } = recorded();
  log.info(fields, 'x');
  expect(lines()).toEqual([
    expect.objectContaining({
      authorization: { scheme: { value: '[redacted]' } },
      cookies: { sid: '[redacted]', n: 1 },
      after: 'seen',
    }),
  ]);
});

test.each([
  ['postgres://palyra:hunter2@db/palyra', 'postgres://[redacted]@db/palyra'],
  ['connect postgres://u:hunter2/hunter2@hunter2@db/d failed', 'connect postgres://[redacted]@db/d failed'],
  ['https://hunter2@github.com/x', 'https://[redacted]@github.com/x'],
  ['"redis://:hunter2@h:6379",', '"redis://[redacted]@h:6379",'],
  ['https://h/p?a=1&db_password=hunter2&b=2#c', 'https://h/p?a=1&db_password=[redacted]&b=2#c'],
  ['see https://packages.example/@scope/name or a@b.c', 'see https://packages.example/@scope/name or a@b.c'],
])('credentials of a URL in any text, also in the message, are taken out: %s', (text, shown) => {
  const { log, lines } = recorded();
  log.info({ [text]: text }, text);
  expect(lines()).toEqual([expect.objectContaining({ [shown]: shown, message: shown })]);
});

test('a password that is longer than what is shown of a text is taken out all the same', () => {
  expect(logged(`https://u:${'hunter2'.repeat(1200)}@h`)).toBe('https://[redacted]@h');
});

test('no value, key or message can make a line long', () => {
  const long = 'x'.repeat(1_000_000);
  const texts = Array.from({ length: 64 }, () => Array.from({ length: 64 }, () => '\u0000'.repeat(9000)));
  const { log, raw, lines } = recorded();
  log.info({ big: 10n ** 300_000n, symbol: Symbol(long), [long]: 1 }, long);
  log.info({ texts }, '\u0000'.repeat(9000));
  expect(raw.map((line) => line.length < 600_000)).toEqual([true, true]);
  expect(lines()[0]).toEqual({
    level: 'info',
    time: '1970-01-01T00:00:00.000Z',
    big: '[long bigint]',
    symbol: `Symbol(${'x'.repeat(8185)}[991816 more]`,
    [`${'x'.repeat(8192)}[991808 more]`]: 1,
    message: `${'x'.repeat(8192)}[991808 more]`,
  });
});

test('children cannot pile up fields to a line without end', () => {
  const { log, lines } = recorded();
  const text = '\u0000'.repeat(8000);
  const parent = Array.from({ length: 40 }, (_, index) => `f${index}`).reduce(
    (l, name) => l.child({ [name]: text }),
    log,
  );
  parent.info({}, 'x');
  expect(lines()).toEqual([{ level: 'info', time: '1970-01-01T00:00:00.000Z', fields: '[too much]', message: 'x' }]);
});

test('a value cannot speak for itself by methods of its own', () => {
  const lie = { toJSON: () => 'hunter2' };
  class EndlessMap extends Map<string, number> {
    override *[Symbol.iterator](): MapIterator<[string, number]> {
      for (;;) yield ['a', 1];
    }
    override entries(): MapIterator<[string, number]> {
      return this[Symbol.iterator]();
    }
  }
  class EndlessSet extends Set<number> {
    override *[Symbol.iterator](): SetIterator<number> {
      for (;;) yield 1;
    }
  }
  expect([
    logged(new EndlessMap([['b', 2]])),
    logged(new EndlessSet([2])),
    logged(new Set(Array.from({ length: 100 }, (_, index) => index))),
    logged(Object.assign([1], { slice: () => ({ map: () => [lie] }), map: () => [lie] })),
    logged(Object.assign(new Date(0), { toISOString: () => lie, getTime: () => lie })),
  ]).toEqual([
    { b: 2 },
    [2],
    [...Array.from({ length: 64 }, (_, index) => index), '[36 more]'],
    [1],
    '1970-01-01T00:00:00.000Z',
  ]);
});

test('a line that cannot be written is lost without a throw, and the next one says how many were', () => {
  const raw: string[] = [];
  let isFull = true;
  const write = (line: string): void => {
    if (isFull) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
    raw.push(line);
  };
  const log = createLogger({ clock, destination: { write } });
  log.info({}, 'a');
  log.child({ x: 1 }).info({}, 'b');
  isFull = false;
  log.info({ linesLost: 'none' }, 'c');
  log.info({}, 'd');
  const common = { level: 'info', time: '1970-01-01T00:00:00.000Z' };
  expect(raw.map((line) => parseJson(line))).toEqual([
    { ...common, linesLost_: 'none', linesLost: 2, message: 'c' },
    { ...common, message: 'd' },
  ]);
});

test('a clock that fails does not make logging throw', () => {
  let now = 0;
  const { log, raw } = recorded({ clock: { ...clock, now: () => now } });
  now = Number.NaN;
  log.info({}, 'a');
  expect(raw).toEqual([]);
});

test.skipIf(process.platform !== 'linux')('standard error on a full disk does not stop the program', () => {
  const program = `
    import { createLogger } from ${JSON.stringify(new URL('logger.ts', import.meta.url).href)};
    const log = createLogger();
    for (let n = 0; n < 3; n += 1) log.info({ n }, 'hello');
    console.log('alive');`;
  const full = openSync('/dev/full', 'w');
  try {
    const { stdout, status } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
      stdio: ['ignore', 'pipe', full],
      encoding: 'utf8',
    });
    expect({ stdout, status }).toEqual({ stdout: 'alive\n', status: 0 });
  } finally {
    closeSync(full);
  }
});
