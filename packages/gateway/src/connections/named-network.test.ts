import { expect, test } from 'vitest';
import { isPrivateTarget, nameNetwork } from './named-network.ts';

const hostsOf = (...written: readonly string[]) => {
  const named = nameNetwork(written, []);
  return named.kind === 'named' ? named.hosts : `malformed: ${named.at}`;
};
const privateOf = (written: readonly string[], exceptions: readonly string[] = []) => {
  const named = nameNetwork(written, exceptions);
  return named.kind === 'named' ? named.privateHosts : `malformed: ${named.at}`;
};

test('every spelling of a host comes out as one, and every port is a line', () => {
  expect(hostsOf('Example.COM.', 'example.com:443', 'example.com:80,443')).toEqual([
    'example.com:443',
    'example.com:80',
  ]);
  expect(hostsOf('bücher.example', 'https://c.example')).toEqual(['xn--bcher-kva.example:443', 'c.example:443']);
  expect(hostsOf('*.pkg.example:8443')).toEqual(['*.pkg.example:8443']);
  expect(hostsOf('[2001:DB8::0:1]:8080')).toEqual(['[2001:db8::1]:8080']);
});

test('what is more than a host, or another in disguise, is none', () => {
  for (const written of [
    '',
    'a.example/x',
    'me@a.example',
    'a.example:0',
    'a b',
    '::1',
    '0x7f.1',
    '*.com',
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
    '[64:ff9b::a00:1]',
  ];
  expect(privateOf(written)).toHaveLength(written.length);
  expect(privateOf(['example.com', '93.184.216.34', '[2606:4700::1111]'])).toEqual([]);
});

test('what the operator opened is not private, and metadata stays so', () => {
  const opened = ['127.0.0.1:8080', '10.0.0.0/8', '169.254.0.0/16'];
  expect(privateOf(['127.0.0.1:8080', 'localhost:8080', '10.9.9.9', 'db'], opened)).toEqual([]);
  expect(
    privateOf(['127.0.0.1:8081', 'localhost:8081', '169.254.169.254', 'metadata.google.internal'], opened),
  ).toHaveLength(4);
  expect(isPrivateTarget({ host: '192.168.0.1', port: 1 }, opened)).toBe(true);
});
