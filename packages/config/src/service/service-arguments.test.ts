import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseServiceArguments, serviceArguments } from './service-arguments.ts';

const name = fc.stringMatching(/^[a-z_][a-z0-9_.-]{0,31}$/);

test('what is told is what is understood, wherever it stands', () => {
  fc.assert(
    fc.property(name, name, fc.array(name), (daemon, owner, more) => {
      fc.pre(daemon !== owner);
      const service = { daemon, owner, state: '/var/lib/palyra' };
      expect(parseServiceArguments([...more, ...serviceArguments(service)])).toEqual(service);
      const joined = [`--service-user=${daemon}`, `--for=${owner}`, '--state=/var/lib/palyra'];
      expect(parseServiceArguments([...more, ...joined])).toEqual(service);
    }),
  );
});

test('without any of it there is no service', () => {
  expect(parseServiceArguments(['--home', '/home/ada/.palyra'])).toBeUndefined();
});

test.each([
  ['--service-user palyra --state /x', '--for needs the name of an account.'],
  ['--service-user --for ada --state /x', '--service-user needs the name of an account.'],
  ['--service-user palyra --for $(id) --state /x', '--for needs the name of an account.'],
  ['--service-user palyra --for palyra --state /x', 'palyrad and the owner of the workspaces have to be two users.'],
  ['--service-user palyra --for ada --state x', '--state needs an absolute path.'],
  ['--service-user palyra --for ada', '--state needs an absolute path.'],
  ['--service-user=palyra', '--for needs the name of an account.'],
  ['--service-user= --for=ada --state=/x', '--service-user needs the name of an account.'],
])('%s is refused', (line, message) => {
  const parse = () => parseServiceArguments(line.split(' '));
  expect(parse).toThrow(expect.objectContaining({ code: 'config.invalid_value', message }));
});
