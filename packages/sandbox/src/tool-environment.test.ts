import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type OwnVariables, PROXY_DEFAULTS, PROXY_VARIABLES, toolEnvironment } from './tool-environment.ts';

const OWN: OwnVariables = { ours: { HOME: '/home/tool', PATH: '/usr/bin' }, defaults: { CARGO_HOME: '/opt/cargo' } };

function variables(environment: Readonly<Record<string, string>>, names: readonly string[]): readonly string[] {
  return toolEnvironment({ argv: ['env'], environment }, { environment: names }, OWN);
}

const ALONE = ['CARGO_HOME=/opt/cargo', 'HOME=/home/tool', 'LANG=C.UTF-8', 'PATH=/usr/bin'];

test('without the caller there is what is ours, sorted', () => {
  expect(toolEnvironment({ argv: ['env'] }, { environment: ['EDITOR'] }, OWN)).toEqual(ALONE);
});

test('of the caller’s only what the profile names comes through (T-19)', () => {
  const theirs = { CI: '1', AWS_SECRET_ACCESS_KEY: 'x', SSH_AUTH_SOCK: '/run/agent', EMPTY: '' };
  expect(variables(theirs, ['CI', 'EMPTY', 'ABSENT'])).toEqual([
    'CARGO_HOME=/opt/cargo',
    'CI=1',
    'EMPTY=',
    ...ALONE.slice(1),
  ]);
  expect(variables(theirs, [])).toEqual(ALONE);
});

test('what is ours wins over the caller, also where the profile names it', () => {
  expect(variables({ HOME: '/root', PATH: '/tmp/evil' }, ['HOME', 'PATH'])).toEqual(ALONE);
});

test('a default loses to the caller, and only where the profile names it', () => {
  const theirs = { CARGO_HOME: '/work/cargo', LANG: 'de_DE.UTF-8' };
  expect(variables(theirs, ['CARGO_HOME', 'LANG'])).toEqual([
    'CARGO_HOME=/work/cargo',
    'HOME=/home/tool',
    'LANG=de_DE.UTF-8',
    'PATH=/usr/bin',
  ]);
  expect(variables(theirs, [])).toEqual(ALONE);
});

test('what is ours wins over a default of the same name', () => {
  const both = { ours: { A: 'ours' }, defaults: { A: 'default', LANG: 'C' } };
  expect(toolEnvironment({ argv: ['env'] }, { environment: [] }, both)).toEqual(['A=ours', 'LANG=C']);
});

test('a terminal has a name, which is a default like any other', () => {
  const terminal = { rows: 24, columns: 80 };
  const command = { argv: ['env'], terminal, environment: { TERM: 'dumb' } };
  expect(toolEnvironment(command, { environment: [] }, OWN)).toContain('TERM=xterm-256color');
  expect(toolEnvironment(command, { environment: ['TERM'] }, OWN)).toContain('TERM=dumb');
  const named = { ...command, terminal: { ...terminal, name: 'linux' } };
  expect(toolEnvironment(named, { environment: [] }, OWN)).toContain('TERM=linux');
  expect(variables({ TERM: 'dumb' }, []).join(' ')).not.toContain('TERM=');
});

test('what every object inherits is no variable', () => {
  expect(variables({}, ['constructor', 'toString', '__proto__'])).toEqual(ALONE);
});

test('property: each name is there once, and its value is that of who has the last word', () => {
  const NAMES = ['A', 'B', 'C', 'LANG', '__proto__'];
  const names = fc.constantFrom(...NAMES);
  const record = fc.dictionary(names, fc.string());
  fc.assert(
    fc.property(record, fc.array(names), record, record, (environment, allowed, ours, defaults) => {
      const all = toolEnvironment({ argv: ['env'], environment }, { environment: allowed }, { ours, defaults });
      const found = new Map(all.map((each) => [each.slice(0, each.indexOf('=')), each.slice(each.indexOf('=') + 1)]));
      expect(found.size).toBe(all.length);
      for (const name of NAMES) {
        const of = (from: Readonly<Record<string, string>>) => (Object.hasOwn(from, name) ? from[name] : undefined);
        const theirs = allowed.includes(name) ? of(environment) : undefined;
        expect(found.get(name)).toBe(of(ours) ?? theirs ?? of(defaults) ?? (name === 'LANG' ? 'C.UTF-8' : undefined));
      }
    }),
  );
});

test('the way out is known in both cases, and what runs in the box is reached without it', () => {
  const found = PROXY_VARIABLES;
  for (const name of ['http_proxy', 'https_proxy', 'all_proxy']) {
    expect([found[name], found[name.toUpperCase()]]).toEqual(['http://127.0.0.1:3128', 'http://127.0.0.1:3128']);
  }
  expect(found['no_proxy']).toBe('localhost,127.0.0.1,::1,0.0.0.0,palyra');
  expect(found['NO_PROXY']).toBe(found['no_proxy']);
  expect(PROXY_DEFAULTS['JAVA_TOOL_OPTIONS']).toContain('-Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=3128');
});

test('no scheme and no pattern is used that a client is known to choke on', () => {
  for (const value of Object.values(PROXY_VARIABLES)) expect(value).not.toMatch(/socks|[[\]*]|\/\d+(?:,|$)/);
});
