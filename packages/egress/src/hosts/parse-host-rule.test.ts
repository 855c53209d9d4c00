import fc from 'fast-check';
import { expect, test } from 'vitest';
import { covers, formatHostRule, type HostRule, schemesFor } from './host-rule.ts';
import { lookalikeWarning } from './lookalike-warning.ts';
import { parseHostRule, parseHostRules, readHostRule } from './parse-host-rule.ts';
import { canonicalTarget } from './target.ts';

const written = (text: string): string => {
  const read = readHostRule(text);
  return read.kind === 'rule' ? formatHostRule(read.rule) : read.code;
};

test.each([
  ['example.com', 'example.com:443'],
  ['Example.COM.:80', 'example.com:80'],
  ['bücher.example', 'xn--bcher-kva.example:443'],
  ['example.com:443,80,443', 'example.com:80,443'],
  ['*.example.com', '*.example.com:443'],
  ['https://example.com', 'https://example.com'],
  ['HTTPS://example.com:8443', 'https://example.com:8443'],
  ['http://*.example.com', 'http://*.example.com'],
  ['http://example.com:80', 'http://example.com'],
  ['192.0.2.1', '192.0.2.1:443'],
  ['[2001:DB8::1]:8080', '[2001:db8::1]:8080'],
  ['*.corp.internal', '*.corp.internal:443'],
  ['localhost:3000', 'localhost:3000'],
])('%s is the rule %s', (text, canonical) => {
  expect(written(text)).toBe(canonical);
  expect(written(canonical)).toBe(canonical);
});

test.each([
  ['*', 'egress.bad_host'],
  ['*.', 'egress.bad_host'],
  ['*.*.example.com', 'egress.bad_host'],
  ['a.*.example.com', 'egress.bad_host'],
  ['*example.com', 'egress.bad_host'],
  ['*.com', 'egress.public_suffix'],
  ['*.co.uk', 'egress.public_suffix'],
  ['*.github.io', 'egress.public_suffix'],
  ['*.s3.amazonaws.com', 'egress.public_suffix'],
  // Wildcards of the list: each name below is a public suffix, although this is none.
  ['*.compute.amazonaws.com', 'egress.public_suffix'],
  ['*.kawasaki.jp', 'egress.public_suffix'],
  // None itself, and one below: anybody's bucket would be covered.
  ['*.amazonaws.com', 'egress.public_suffix'],
  ['*.rds.amazonaws.com', 'egress.public_suffix'],
  ['*.core.windows.net', 'egress.public_suffix'],
  ['*.windows.net', 'egress.public_suffix'],
  ['*.test', 'egress.public_suffix'],
  ['*.localhost', 'egress.public_suffix'],
  ['*.192.0.2.1', 'egress.bad_rule'],
  ['*.[::1]', 'egress.bad_rule'],
  ['2130706433', 'egress.bad_host'],
  ['127.1', 'egress.bad_host'],
  ['0x7f.0.0.1:80', 'egress.bad_host'],
  ['[::ffff:10.0.0.1]', 'egress.bad_host'],
  ['::1', 'egress.bad_rule'],
  ['[fe80::1%25eth0]', 'egress.bad_host'],
  ['example.com:', 'egress.bad_rule'],
  ['example.com:0', 'egress.bad_rule'],
  ['example.com:65536', 'egress.bad_rule'],
  ['example.com:080', 'egress.bad_rule'],
  ['example.com:80,', 'egress.bad_rule'],
  ['example.com:80-90', 'egress.bad_rule'],
  ['ssh://example.com', 'egress.bad_rule'],
  ['https://example.com/', 'egress.bad_rule'],
  ['https://user@example.com', 'egress.bad_host'],
  ['exa%6dple.com', 'egress.bad_host'],
  ['', 'egress.bad_host'],
  [' example.com', 'egress.bad_host'],
])('%j is refused with %s', (text, code) => {
  expect(written(text)).toBe(code);
  expect(() => parseHostRule(text)).toThrow(expect.objectContaining({ code }));
});

test('a list keeps the ports of a rule together', () => {
  const list = parseHostRules('a.example,b.example:80,443,*.c.example, a.example');
  expect(list.map(formatHostRule)).toEqual(['a.example:443', 'b.example:80,443', '*.c.example:443']);
});

const label = fc.stringMatching(/^[a-z][a-z0-9]{0,8}$/);
const name = fc.array(label, { minLength: 2, maxLength: 5 }).map((labels) => labels.join('.'));
const port = fc.integer({ min: 1, max: 65_535 });
const rule: fc.Arbitrary<HostRule> = fc.record(
  {
    kind: fc.constant<'exact'>('exact'),
    host: fc.oneof(name, fc.ipV4()),
    ports: fc.uniqueArray(port, { minLength: 1, maxLength: 5 }).map((ports) => ports.toSorted((a, b) => a - b)),
    scheme: fc.constantFrom<'http' | 'https'>('http', 'https'),
  },
  { requiredKeys: ['kind', 'host', 'ports'] },
);

test('a rule that is written and read again is the same rule', () => {
  fc.assert(
    fc.property(rule, (one) => {
      expect(parseHostRule(formatHostRule(one))).toEqual(one);
    }),
  );
});

test('a suffix covers every name below it, and neither itself nor what only ends alike', () => {
  fc.assert(
    fc.property(name, label, port, (host, below, number) => {
      const suffix: HostRule = { kind: 'subdomains', host, ports: [number] };
      expect(covers(suffix, { host: `${below}.${host}`, port: number })).toBe(true);
      expect(covers(suffix, { host: `${below}.${below}.${host}`, port: number })).toBe(true);
      expect(covers(suffix, { host, port: number })).toBe(false);
      expect(covers(suffix, { host: `${below}${host}`, port: number })).toBe(false);
      expect(covers(suffix, { host: `${host}.${below}`, port: number })).toBe(false);
      expect(covers(suffix, { host: `${below}.${host}`, port: (number % 65_535) + 1 })).toBe(false);
    }),
  );
});

test('a rule with a scheme covers a tunnel that has not begun, and says what may be spoken in it', () => {
  const target = { host: 'a.example', port: 443 };
  const https = parseHostRule('https://a.example');
  expect(covers(https, target)).toBe(true);
  expect(covers(https, { ...target, scheme: 'http' })).toBe(false);
  expect(schemesFor([https], target)).toEqual(['https']);
  expect(schemesFor([https, parseHostRule('a.example')], target)).toBe('any');
  expect(schemesFor([parseHostRule('b.example')], target)).toEqual([]);
});

test('a target is behind the last at sign, on the port that its scheme means', () => {
  expect(canonicalTarget('http://good.example@evil.example/')).toEqual({
    host: 'evil.example',
    port: 80,
    scheme: 'http',
  });
  expect(canonicalTarget('http://good.example:80@evil.example:81/')).toEqual({
    host: 'evil.example',
    port: 81,
    scheme: 'http',
  });
  expect(canonicalTarget('ssh://git@h.example/x')).toEqual({ host: 'h.example', port: 22 });
  expect(canonicalTarget('[::1]:8080')).toEqual({ host: '::1', port: 8080 });
  expect(canonicalTarget('::1')).toEqual({ host: '::1', port: 443 });
  expect(canonicalTarget('a.example:99999')).toEqual({ kind: 'malformed', fault: 'bad_port' });
  expect(canonicalTarget('a.example:')).toEqual({ kind: 'malformed', fault: 'bad_port' });
});

test('who decides is warned of names that pass for others', () => {
  expect(lookalikeWarning('example.com')).toBeUndefined();
  expect(lookalikeWarning('аррle.com')).toMatch(/mixes letters|passes for/);
  expect(lookalikeWarning('xn--pple-43d.com')).toBeDefined();
});
