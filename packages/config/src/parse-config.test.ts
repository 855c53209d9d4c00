import { inspect } from 'node:util';
import { reveal, Secret } from '@palyra/primitives';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ConfigError, type ConfigProblem } from './config-error.ts';
import { parseConfig } from './parse-config.ts';
import { SETTINGS } from './settings.ts';

function refusal(text: string): ConfigError {
  try {
    parseConfig(text, '/h/palyra.toml');
  } catch (thrown) {
    if (thrown instanceof ConfigError) return thrown;
    throw thrown;
  }
  throw new Error('it was accepted');
}

function brief({ code, key, line, column }: ConfigProblem): string {
  return `${line}:${column} ${code} ${key}`;
}

test('an empty text means every default', () => {
  expect(parseConfig('', 'x')).toEqual({
    config: {
      storage: { url: undefined, lock_timeout_ms: 5000, pool_size: 8 },
      policy: { preset: 'coding', auto_apply: false },
      approvals: {
        unattended: 'wait',
        timeout_minutes: 30,
        timeboxed_hours: 8,
        questions_per_hour: 120,
        cool_down_minutes: 10,
      },
      runs: { orphan_minutes: 10, slow_reader_seconds: 60 },
      journal: { segment_entries: 100_000, segment_hours: 24, keep_days: 0 },
      daemon: expect.any(Object),
      limits: expect.any(Object),
      egress: expect.any(Object),
      telemetry: { traces_url: undefined },
      tool_calls: expect.any(Object),
      process_runner: expect.any(Object),
      wasm_runtime: expect.any(Object),
      log: { level: 'info' },
    },
    present: new Set(),
  });
});

test('what is set is read, and known to be set', () => {
  const text = '\uFEFFlog.level = "debug"\r\n[storage]\r\nurl = "postgres://u:pw@h/d"\r\npool_size = 3\r\n';
  const { config, present } = parseConfig(text, 'x');
  expect(config).toEqual({
    storage: { url: expect.any(Secret), lock_timeout_ms: 5000, pool_size: 3 },
    policy: { preset: 'coding', auto_apply: false },
    approvals: {
      unattended: 'wait',
      timeout_minutes: 30,
      timeboxed_hours: 8,
      questions_per_hour: 120,
      cool_down_minutes: 10,
    },
    runs: { orphan_minutes: 10, slow_reader_seconds: 60 },
    journal: { segment_entries: 100_000, segment_hours: 24, keep_days: 0 },
    daemon: expect.any(Object),
    limits: expect.any(Object),
    egress: expect.any(Object),
    telemetry: { traces_url: undefined },
    tool_calls: expect.any(Object),
    process_runner: expect.any(Object),
    wasm_runtime: expect.any(Object),
    log: { level: 'debug' },
  });
  expect(config.storage.url && reveal(config.storage.url)).toBe('postgres://u:pw@h/d');
  expect(present).toEqual(new Set(['storage.url', 'storage.pool_size', 'log.level']));
});

test('the result is frozen through and through, and printing it shows no password', () => {
  const { config } = parseConfig('storage.url = "postgres://u:hunter2@h/d"', 'x');
  expect(() => Object.assign(config, { log: {} })).toThrow(TypeError);
  expect(() => Object.assign(config.storage, { pool_size: 9 })).toThrow(TypeError);
  expect(`${JSON.stringify(config)}${inspect(config, { depth: 9, showHidden: true })}`).not.toContain('hunter2');
});

describe('an unknown key', () => {
  test.each([
    ['[storage]\n  urll = ""', '2:3', 'Unknown key "urll" in [storage].', 'Did you mean "url"?'],
    [
      '[storage]\ncolour = 1',
      '2:1',
      'Unknown key "colour" in [storage].',
      '[storage] has url, lock_timeout_ms, pool_size.',
    ],
    ['[storage]\nlevel = "info"', '2:1', 'Unknown key "level" in [storage].', '"level" belongs under [log].'],
    ['pool_size = 1', '1:1', 'Unknown key "pool_size" outside any section.', 'Put "pool_size" under [storage].'],
    ['[strage]\nurl = ""', '1:2', 'Unknown section [strage].', 'Did you mean [storage]?'],
    [
      '[network]\na = 1\nb = 2',
      '1:2',
      'Unknown section [network].',
      'The sections are storage, policy, approvals, runs, journal, daemon, limits, egress, telemetry, tool_calls, process_runner, wasm_runtime, log.',
    ],
    ['[log.deep]\nlevel = 1', '1:6', 'Unknown key "deep" in [log].', '[log] has level.'],
    ['log = { level = "info",\t"lvl" = 1 }', '1:25', 'Unknown key "lvl" in [log].', 'Did you mean "level"?'],
    ['[log]\n"\\u202Elevel" = 1', '2:1', 'Unknown key "\\u{202E}level" in [log].', 'Did you mean "level"?'],
    [
      '[storage]\n__proto__ = 1',
      '2:1',
      'Unknown key "__proto__" in [storage].',
      '[storage] has url, lock_timeout_ms, pool_size.',
    ],
    [
      'constructor = 1',
      '1:1',
      'Unknown key "constructor" outside any section.',
      'The sections are storage, policy, approvals, runs, journal, daemon, limits, egress, telemetry, tool_calls, process_runner, wasm_runtime, log.',
    ],
    ['[log]\n"a.b" = 1', '2:1', 'Unknown key "a.b" in [log].', '[log] has level.'],
  ])('%j is refused where it stands, with the nearest known one', (text, place, message, fix) => {
    const error = refusal(text);
    expect({ code: error.code, message: error.message, fix: error.fix }).toEqual({
      code: 'config.unknown_key',
      message: `/h/palyra.toml:${place}: ${message}`,
      fix,
    });
  });
});

describe('a wrong value', () => {
  test.each([
    ['storage.pool_size = 0', '1:21', 'storage.pool_size must be a whole number from 1 to 1000, but is 0.'],
    ['storage.pool_size = 1.5', '1:21', 'storage.pool_size must be a whole number from 1 to 1000, but is 1.5.'],
    ['storage.pool_size = nan', '1:21', 'storage.pool_size must be a whole number from 1 to 1000, but is NaN.'],
    ['storage.pool_size = "8"', '1:21', 'storage.pool_size must be a whole number from 1 to 1000, but is "8".'],
    ['storage.pool_size = [\n8]', '1:21', 'storage.pool_size must be a whole number from 1 to 1000, but is a list.'],
    ['[log]\nlevel = 1979-05-27', '2:9', 'log.level must be one of debug, info, warn, error, silent, but is a date.'],
    ['[log]\nlevel = {}', '2:9', 'log.level must be one of debug, info, warn, error, silent, but is a table.'],
    [
      '[log]\nlevel = "\\u001b[31m"',
      '2:9',
      'log.level must be one of debug, info, warn, error, silent, but is "\\u{1B}[31m".',
    ],
    ['storage = 3', '1:11', 'storage must be a section, but is a number.'],
    ['[[log]]\nlevel = "info"', '1:3', 'log must be a section, but is a list.'],
  ])('%j is refused with what was expected and what was found', (text, place, message) => {
    const error = refusal(text);
    expect([error.code, error.message]).toEqual(['config.invalid_value', `/h/palyra.toml:${place}: ${message}`]);
  });

  test('of a choice is answered with the nearest one', () => {
    expect(refusal('log.level = "warning"').fix).toBe('Did you mean "warn"?');
    expect(refusal('log.level = "loud"').fix).toBe('Without the line it is "info".');
  });

  test('that is long is shortened, and says so', () => {
    expect(refusal(`log.level = "${'x'.repeat(5000)}"`).message).toContain('\\[4940 characters left out]');
  });
});

describe('text that is not TOML', () => {
  test.each([
    ['a = ', '1:5'],
    ['[log]\nlevel = "info\n', '2:14'],
    ['[log]\n[log]', '2:2'],
    ['[log]\nlevel = "info"\nlevel = "info"', '3:1'],
    ['# 😀😀\n"😀" = !', '2:7'],
    ['storage.pool_size = 99999999999999999999', '1:21'],
    [`a = ${'['.repeat(50)}`, '1:21'],
  ])('%j is refused where it goes wrong', (text, place) => {
    const error = refusal(text);
    expect([error.code, error.message.split(': ', 1)[0]]).toEqual(['config.invalid_toml', `/h/palyra.toml:${place}`]);
  });
});

test('all problems are told at once, in the order of the text', () => {
  const error = refusal('x = 1\n[log]\nlevel = 3\nlvl = 4\n[storage]\npool_size = 0\nurl = "mysql://x"\n');
  expect(error.problems.map(brief)).toEqual([
    '1:1 config.unknown_key x',
    '3:9 config.invalid_value log.level',
    '4:1 config.unknown_key log.lvl',
    '6:13 config.invalid_value storage.pool_size',
    '7:7 config.invalid_value storage.url',
  ]);
  expect([error.code, error.message.split('\n', 1)[0]]).toEqual([
    'config.unknown_key',
    '/h/palyra.toml has 5 problems:',
  ]);
  expect(error.message.split('\n')).toHaveLength(11);
  expect(error.message).toContain('\n  4:1   Unknown key "lvl" in [log].\n        Did you mean "level"?\n');
});

test('a text full of problems is refused, with a message of a length that can be read', () => {
  const text = Array.from({ length: 40_000 }, (_, index) => `key_${index} = 1`).join('\n');
  const error = refusal(text);
  expect([error.problems.length, error.message.split('\n').length, error.message.endsWith('and 39980 more')]).toEqual([
    40_000,
    42,
    true,
  ]);
});

test.each([
  ['a dotted key', `${'a.'.repeat(10_000)}b = 1`, 'config.unknown_key'],
  ['a dotted key of quoted names', `${"'a'.".repeat(10_000)}b = 1`, 'config.unknown_key'],
  ['a dotted key at a setting', `log.level.${'a.'.repeat(10_000)}b = 1`, 'config.invalid_value'],
  ['a header', `[${'a.'.repeat(10_000)}b]\n${'c.'.repeat(10_000)}d = 1`, 'config.unknown_key'],
  ['a header of a list', `[[${'a.'.repeat(10_000)}b]]\nc = 1`, 'config.unknown_key'],
])('%s of ten thousand names costs no more memory than its length', (_what, text, code) => {
  const before = process.memoryUsage().heapUsed;
  const error = refusal(text);
  expect([error.code, error.problems.length]).toEqual([code, 1]);
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(100 * 1024 * 1024);
});

test('each of many problems in a line is found at its place', () => {
  const text = `storage = { ${Array.from({ length: 20_000 }, (_, index) => `key_${index} = 1`).join(', ')} }`;
  expect(refusal(text).problems.at(-1)).toMatchObject({ line: 1, column: text.lastIndexOf('key_') + 1 });
});

test('any other key, at any place, is refused: nothing is ever silently ignored', () => {
  const known = new Set(SETTINGS.flatMap(({ section, name }) => [section, name]));
  const name = fc.stringMatching(/^[a-z_]{1,12}$/).filter((text) => !known.has(text));
  fc.assert(
    fc.property(name, fc.constantFrom('', '[storage]\n', '[log]\n'), (key, header) => {
      const line = header === '' ? 1 : 2;
      expect(refusal(`${header}${key} = 1`)).toMatchObject({
        code: 'config.unknown_key',
        problems: [{ line, column: 1 }],
      });
    }),
  );
});

test('no text makes it throw anything but a ConfigError', () => {
  const piece = fc.constantFrom(
    '[',
    ']',
    '=',
    '"',
    "'",
    '\n',
    '.',
    'log',
    'level',
    'storage',
    'url',
    ' ',
    '{',
    '}',
    ',',
    '1',
    '#',
    '\0',
    '\\',
    'é',
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
      expect(outcome(pieces.join(''))).not.toBe('fault');
    }),
    { numRuns: 3000 },
  );
});

function outcome(text: string): 'accepted' | 'refused' | 'fault' {
  try {
    parseConfig(text, 'x');
    return 'accepted';
  } catch (thrown) {
    return thrown instanceof ConfigError ? 'refused' : 'fault';
  }
}
