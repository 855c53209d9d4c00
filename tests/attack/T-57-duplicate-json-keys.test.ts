/** T-57: one text, two meanings: what we decide on is not what the tool or server behind us parses. */
import { createLogger, parseJson } from '@palyra/primitives';
import { expect, test } from 'vitest';

test.each([
  ['plainly', '{"path":"/tmp/ok","path":"/etc/shadow"}'],
  ['by an escape', String.raw`{"path":"/tmp/ok","\u0070ath":"/etc/shadow"}`],
  ['deep inside', '{"args":[{"opts":{"url":"https://ok","url":"https://evil"}}]}'],
  ['with a name that objects inherit', '{"constructor":1,"constructor":2}'],
  ['with the name of the prototype', '{"__proto__":1,"__proto__":2}'],
  ['with the empty name', '{"":1,"":2}'],
])('a key given twice %s is refused', (_how, text) => {
  expect(() => parseJson(text)).toThrow(expect.objectContaining({ code: 'primitives.json_duplicate_key' }));
  expect(() => parseJson(new TextEncoder().encode(text))).toThrow(
    expect.objectContaining({ code: 'primitives.json_duplicate_key' }),
  );
});

test('two names that become one in a program that replaces half surrogates are refused', () => {
  expect(() => parseJson(String.raw`{"\ud800":"shown","\ud801":"run"}`)).toThrow(
    expect.objectContaining({ code: 'primitives.json_lone_surrogate' }),
  );
});

test('an integer that some programs round is refused', () => {
  expect(() => parseJson('{"amount":9007199254740993}')).toThrow(
    expect.objectContaining({ code: 'primitives.json_number_range' }),
  );
});

test('a field cannot give a log line a second level, time or message', () => {
  const lines: string[] = [];
  const log = createLogger({ destination: { write: (line) => lines.push(line) } });
  log.child({ level: 'debug', call: 1 }).warn({ level: 'info', time: 0, message: 'allowed', call: 2 }, 'refused');
  expect(parseJson(lines[0] ?? '')).toMatchObject({ level: 'warn', message: 'refused', call: 2 });
});
