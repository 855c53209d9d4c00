import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseConfig } from '@palyra/config';
import { DEFAULT_OPERATOR_NETWORK } from '@palyra/gateway';
import { expect, onTestFinished, test } from 'vitest';
import { operatorNetwork } from './operator-network.ts';

const made = (toml: string) => operatorNetwork(parseConfig(toml, 'palyra.toml').config);
const egress = (...lines: readonly string[]) => made(`[egress]\n${lines.join('\n')}`);

test('nothing configured is nothing private, and a question for each host', () => {
  expect(made('')).toEqual(DEFAULT_OPERATOR_NETWORK);
});

test('where nobody is there to answer, hosts that were not named are denied', () => {
  expect(made('approvals.unattended = "deny"').unlisted).toBe('deny');
  expect(egress('unlisted = "deny"').unlisted).toBe('deny');
});

test('lists are read in the one spelling of their names', () => {
  expect(
    egress(
      'private_ranges = " 10.0.0.0/8 , 127.0.0.1:8080,"',
      'registries = "Packages.example, npm.example:4873,4874"',
      'hosts = "Git.example=10.0.0.5, git.example=[2001:db8::1]"',
      'megabytes_out = 1',
    ),
  ).toMatchObject({
    privateRanges: ['10.0.0.0/8', '127.0.0.1:8080'],
    registryHosts: ['packages.example:443', 'npm.example:4873', 'npm.example:4874'],
    pinned: { 'git.example': ['10.0.0.5', '2001:db8::1'] },
    limits: { bytesOut: 1024 * 1024 },
  });
});

test.each([
  ['private_ranges = "10.0.0.0"', 'egress.bad_range'],
  ['registries = "*.example.org"', 'gateway.invalid_config'],
  ['registries = "a b"', 'egress.bad_host'],
  ['hosts = "git.example"', 'gateway.invalid_config'],
  ['hosts = "10.0.0.1=10.0.0.2"', 'gateway.invalid_config'],
  ['authorities = "/nonexistent/authority.pem"', 'gateway.invalid_config'],
])('%s does not start', (line, code) => {
  expect(() => egress(line)).toThrow(expect.objectContaining({ code, fix: expect.any(String) }));
});

test('authorities are certificates in a file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'palyra-authorities-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'a.pem');
  writeFileSync(path, 'no certificate');
  expect(() => egress(`authorities = "${path}"`)).toThrow('holds no certificate');
  writeFileSync(path, '-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n');
  expect(egress(`authorities = "${path}"`).authorities).toHaveLength(1);
});
