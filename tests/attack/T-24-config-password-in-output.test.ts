/** T-24: the database password in palyra.toml turns up in an error, in `palyra config show` or in a printed object. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { commandsFor } from '../../apps/cli/src/command-table.ts';
import { runCli } from '../../apps/cli/src/run-cli.ts';

const PASSWORD = 'correct-horse-battery';

let home = '';

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'palyra-t24-'));
});

afterEach(() => rmSync(home, { recursive: true }));

async function everythingPrinted(argv: readonly string[]): Promise<string> {
  const printed: string[] = [];
  const sink = () => new Writable({ write: (chunk, _encoding, done) => done(void printed.push(String(chunk))) });
  await runCli({
    argv,
    version: '0',
    nodeVersion: '0',
    commands: await commandsFor(argv),
    variables: { PALYRA_HOME: home, PALYRA_LOG: 'debug', PALYRA_PASSWORD: PASSWORD },
    userHome: () => home,
    openStdin: () => Readable.from([]),
    stdout: sink(),
    stderr: sink(),
    workingDirectory: () => home,
    signal: new AbortController().signal,
  });
  return printed.join('');
}

const URL_WITH_PASSWORD = `postgres://palyra:${PASSWORD}@db.example/palyra`;

test.each([
  ['a valid address', `[storage]\nurl = "${URL_WITH_PASSWORD}"`],
  ['a password among the parameters', `[storage]\nurl = "postgres://db.example/palyra?password=${PASSWORD}"`],
  [
    'an unencoded character that ends the address early',
    `[storage]\nurl = "postgres://u:1/${PASSWORD}@db.example/palyra"`,
  ],
  ['an address that is not valid', `[storage]\nurl = "mysql://palyra:${PASSWORD}@db.example/palyra"`],
  ['the wrong key', `[log]\nlevel = "${URL_WITH_PASSWORD}"`],
  ['an unknown key', `[storage]\nulr = "${URL_WITH_PASSWORD}"`],
  ['a section written as a key', `storage = "${URL_WITH_PASSWORD}"`],
  ['a list', `[storage]\nurl = ["${URL_WITH_PASSWORD}"]`],
  ['a quote too few', `[storage]\nurl = "${URL_WITH_PASSWORD}\n`],
  ['no quotes at all', `[storage]\nurl = ${URL_WITH_PASSWORD}\n`],
  ['the line beside a mistake', `[storage]\nurl = "${URL_WITH_PASSWORD}"\n!!!\n`],
])('%s: neither show nor check prints the password', async (_what, text) => {
  writeFileSync(join(home, 'palyra.toml'), text, { mode: 0o600 });
  const commands = [
    ['config', 'show'],
    ['config', 'show', '--json'],
    ['config', 'check'],
    ['config', 'check', '--json'],
  ];
  const printed = await Promise.all(commands.map(everythingPrinted));
  expect(printed.join('')).not.toContain(PASSWORD);
  expect(printed.join('')).toMatch(/storage|palyra\.toml/);
});

test('a password on the command line, where every user of the machine can read it, is refused and not written', async () => {
  const printed = await everythingPrinted(['config', 'set', 'storage.url', URL_WITH_PASSWORD]);
  expect(printed).toContain('error[cli.secret_in_arguments]');
  expect(printed).not.toContain(PASSWORD);
  expect(existsSync(join(home, 'palyra.toml'))).toBe(false);
});
