import { reveal } from '@palyra/primitives';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseConfig } from './parse-config.ts';
import { renderDefaultConfig } from './render-config.ts';
import { setConfigValue } from './set-config-value.ts';

test.each([
  ['an empty text', '', '[storage]\npool_size = 3\n'],
  [
    'a text without the section',
    '# top\n[log]\nlevel = "info"',
    '# top\n[log]\nlevel = "info"\n\n[storage]\npool_size = 3\n',
  ],
  ['an existing value', '[storage] # s\npool_size   =  0x8   # eight\n', '[storage] # s\npool_size   =  3   # eight\n'],
  [
    'a section with other settings',
    '[storage]\nurl = ""  # none\n\n# log\n[log]\n',
    '[storage]\nurl = ""  # none\npool_size = 3\n\n# log\n[log]\n',
  ],
  ['an empty section', '[storage] # s\n[log]\n', '[storage] # s\npool_size = 3\n[log]\n'],
  ['a section at the end of the text', '[storage]', '[storage]\npool_size = 3'],
  [
    'a commented-out default',
    '[storage]\n# x\n#pool_size = 8\n\n# y\n',
    '[storage]\n# x\n#pool_size = 8\npool_size = 3\n\n# y\n',
  ],
  ['dotted keys', 'storage.url = "" # u\n[log]\n', 'storage.url = "" # u\nstorage.pool_size = 3\n[log]\n'],
  ['an inline table', 'storage = { url = "" } # s\n', 'storage = { pool_size = 3, url = "" } # s\n'],
  ['an empty inline table', 'storage = {}\n', 'storage = { pool_size = 3 }\n'],
  [
    'Windows line ends and a byte order mark',
    '\uFEFF[storage]\r\nurl = ""\r\n',
    '\uFEFF[storage]\r\nurl = ""\r\npool_size = 3\r\n',
  ],
  [
    'a multi-line string in the way',
    '[storage]\nurl = """\\\n  """\n',
    '[storage]\nurl = """\\\n  """\npool_size = 3\n',
  ],
])('%s keeps every other byte', (_what, before, after) => {
  expect(setConfigValue(before, 'storage.pool_size', 3)).toBe(after);
});

test.each([
  ['storage.pool', 3, 'config.unknown_key'],
  ['storage', 3, 'config.unknown_key'],
  ['storage.pool_size', 0, 'config.invalid_value'],
  ['storage.pool_size', '3', 'config.invalid_value'],
  ['storage.pool_size', Number.NaN, 'config.invalid_value'],
  ['log.level', 'info\ninjected = 1', 'config.invalid_value'],
] as const)('setting %s to %j is refused', (key, value, code) => {
  expect(() => setConfigValue('', key, value)).toThrow(expect.objectContaining({ code }));
});

test('a text that is not valid itself is not edited', () => {
  expect(() => setConfigValue('x = 1', 'storage.pool_size', 3)).toThrow(
    expect.objectContaining({ code: 'config.unknown_key' }),
  );
});

test('a value comes back as it was given, also with quotes and backslashes, and all others stay', () => {
  const password = fc.string({ maxLength: 10 }).map((text) => encodeURIComponent(text.toWellFormed()));
  const texts = [
    '',
    renderDefaultConfig(),
    'log = { level = "warn" }',
    '[log]\nlevel = "warn"\n[storage]\nurl = "postgres://h/d"',
  ];
  fc.assert(
    fc.property(fc.constantFrom(...texts), password, (text, secret) => {
      const url = `postgres://u:${secret}'\\@h/d`;
      const before = parseConfig(text, 'x').config;
      const edited = parseConfig(setConfigValue(text, 'storage.url', url), 'x').config;
      expect(edited.storage.url && reveal(edited.storage.url)).toBe(url);
      expect({ ...edited, storage: { ...edited.storage, url: undefined } }).toEqual({
        ...before,
        storage: { ...before.storage, url: undefined },
      });
    }),
  );
});
