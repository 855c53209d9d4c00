import { expect, test } from 'vitest';
import { nameHosts } from './named-hosts.ts';

const hostsOf = (...written: readonly string[]) => {
  const named = nameHosts(written);
  return named.kind === 'named' ? named.hosts : `malformed: ${named.at}`;
};
const privateOf = (...written: readonly string[]) => {
  const named = nameHosts(written);
  return named.kind === 'named' ? named.privateHosts : `malformed: ${named.at}`;
};

test('every spelling of a host comes out as one', () => {
  expect(hostsOf('Example.COM.', 'example.com:443', 'example.com:80')).toEqual(['example.com:443', 'example.com:80']);
  expect(hostsOf('bücher.example')).toEqual(['xn--bcher-kva.example:443']);
  expect(hostsOf('0x7f.1', '2130706433', '0177.0.0.1')).toEqual(['127.0.0.1:443']);
  expect(hostsOf('[2001:DB8::0:1]:8080')).toEqual(['[2001:db8::1]:8080']);
});

test('what is more than a host is none', () => {
  for (const written of [
    '',
    'https://a.example',
    'a.example/x',
    'me@a.example',
    'a.example:0',
    'a.example:70000',
    'a b',
    '::1',
    'a.example:',
    '%41.example',
  ]) {
    expect([written, hostsOf('ok.example', written)]).toEqual([written, 'malformed: 1']);
  }
});

test('addresses that are not on the public internet are known, and so are names that are not', () => {
  const written = [
    'localhost',
    'db',
    'x.internal',
    '10.1.2.3',
    '169.254.169.254',
    '100.64.0.1',
    '[::1]',
    '[fe80::1]',
    '[::ffff:10.0.0.1]',
    '[fd00::1]',
    '[64:ff9b::a00:1]',
    '[2002:a00:1::]',
  ];
  expect(privateOf(...written)).toHaveLength(written.length);
  expect(privateOf('example.com', '93.184.216.34', '[2606:4700::1111]')).toEqual([]);
});
