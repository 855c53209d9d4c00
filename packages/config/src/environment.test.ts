import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ConfigError } from './config-error.ts';
import { readEnvironment } from './environment.ts';

test('nothing is needed from the environment', () => {
  expect(readEnvironment({})).toEqual({ home: undefined, logLevel: undefined, warnings: [] });
});

test('it may choose the home and the log level', () => {
  expect(readEnvironment({ PALYRA_HOME: '/srv/palyra/', PALYRA_LOG: 'debug', PATH: '/bin' })).toEqual({
    home: '/srv/palyra',
    logLevel: 'debug',
    warnings: [],
  });
});

test('every other PALYRA_ variable changes nothing and is named, without its value', () => {
  const name = fc
    .stringMatching(/^PALYRA_[A-Z_]{1,20}$/)
    .filter((text) => !['PALYRA_HOME', 'PALYRA_LOG'].includes(text));
  fc.assert(
    fc.property(fc.dictionary(name, fc.constant('hunter2')), (others) => {
      const { warnings, ...read } = readEnvironment({ ...others, PALYRA_LOG: 'warn' });
      expect(read).toEqual({ home: undefined, logLevel: 'warn' });
      expect(warnings).toHaveLength(Object.keys(others).length);
      expect(warnings.join()).not.toContain('hunter2');
    }),
  );
});

test('an ignored variable that looks like a slip is answered with the one that was meant', () => {
  expect(readEnvironment({ PALYRA_LOGS: 'debug', PALYRA_STORAGE_URL: 'x', palyra_home: '/x' }).warnings).toEqual([
    'The environment variable PALYRA_LOGS is ignored. Did you mean PALYRA_LOG?',
    'The environment variable PALYRA_STORAGE_URL is ignored. Only PALYRA_HOME and PALYRA_LOG are read.',
    'The environment variable palyra_home is ignored. Did you mean PALYRA_HOME?',
  ]);
});

test.each([
  [{ PALYRA_HOME: '' }, 'The environment variable PALYRA_HOME is set but empty.'],
  [{ PALYRA_HOME: 'state' }, 'The environment variable PALYRA_HOME cannot be used: "state" is not an absolute path.'],
  [{ PALYRA_HOME: '/a/../b' }, 'The environment variable PALYRA_HOME cannot be used: "/a/../b" holds "..".'],
  [{ PALYRA_HOME: '//' }, 'The environment variable PALYRA_HOME cannot be used: "//" is the root of the file system.'],
  [
    { PALYRA_LOG: '' },
    'The environment variable PALYRA_LOG must be one of debug, info, warn, error, silent, but is "".',
  ],
  [
    { PALYRA_LOG: 'DEBUG' },
    'The environment variable PALYRA_LOG must be one of debug, info, warn, error, silent, but is "DEBUG".',
  ],
])('%j is refused', (variables, message) => {
  expect(() => readEnvironment(variables)).toThrow(
    expect.objectContaining({ code: 'config.invalid_environment', message }),
  );
  expect(() => readEnvironment(variables)).toThrow(ConfigError);
});
