import { existsSync, lstatSync, mkdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createTemporaryHome } from '@palyra/testkit';
import { expect, test } from 'vitest';
import type { CommandContext } from '../../apps/cli/src/command.ts';
import { install } from '../../apps/cli/src/commands/install.ts';
import { uninstall } from '../../apps/cli/src/commands/uninstall.ts';
import { runInProcess } from './cli-in-process.ts';

const SETTINGS = '.claude/settings.json';

test('settings that somebody else writes meanwhile, links, and another server of our name are left alone', async () => {
  await using place = await createTemporaryHome();
  const variables = { PATH: '/usr/bin:/bin', HOME: place.path, PALYRA_HOME: join(place.path, 'palyra') };
  const palyra = (...args: readonly string[]) => runInProcess({ args, cwd: place.path, variables, input: '' });
  const at = (file: string) => join(place.path, file);
  const read = (file: string) => readFileSync(at(file), 'utf8');
  const write = (file: string, text: string) => {
    mkdirSync(dirname(at(file)), { recursive: true });
    writeFileSync(at(file), text);
  };
  /** A person who says yes, and something that writes just before. */
  const whileAsked = (act: () => void): CommandContext => ({
    home: undefined,
    variables,
    userHome: () => place.path,
    openStdin: () => process.stdin,
    workingDirectory: () => place.path,
    terminal: {
      progress: () => undefined,
      show: () => undefined,
      showCode: () => false,
      askHidden: async () => '',
      async ask() {
        act();
        return 'yes';
      },
    },
    signal: new AbortController().signal,
    asJson: false,
    columns: () => undefined,
    openOutput: () => ({ stdout: process.stdout, stderr: process.stderr }),
    takeSignals: () => ({ release: () => undefined }),
  });
  const input = { arguments: ['claude-code'], rest: [], options: {} };
  const changed = expect.objectContaining({ code: 'cli.settings_changed' });
  await palyra('init');

  // Of a server of our name: whoever installs believes that it is us.
  write('.claude.json', '{"mcpServers":{"palyra":{"command":"evil"}}}');
  expect(await palyra('install', 'claude-code', '--yes')).toMatchObject({ exit: 7 });
  expect(existsSync(at(SETTINGS))).toBe(false);
  write('.claude.json', '{"mcpServers":{}}');

  // Nothing there when it was shown, something when it was confirmed.
  await expect(
    install.run(
      input,
      whileAsked(() => write(SETTINGS, '{"mine":1}')),
    ),
  ).rejects.toEqual(changed);
  expect(read(SETTINGS)).toBe('{"mine":1}');
  expect(await palyra('install', 'claude-code', '--yes')).toMatchObject({ exit: 0 });
  const edited = read(SETTINGS).replace('1', '2');
  await expect(
    uninstall.run(
      input,
      whileAsked(() => write(SETTINGS, edited)),
    ),
  ).rejects.toEqual(changed);
  expect(read(SETTINGS)).toBe(edited);

  // What takes it back needs no configuration that can be read.
  const config = join('palyra', 'palyra.toml');
  const good = existsSync(at(config)) ? read(config) : '';
  write(config, 'this is = = no TOML');
  expect(await palyra('uninstall', 'claude-code', '--yes')).toMatchObject({ exit: 0 });
  expect(JSON.parse(read(SETTINGS))).toEqual({ mine: 2 });
  write(config, good);

  // A link to where nothing is, perhaps not yet: to a disk that is not mounted.
  mkdirSync(at('.cursor'));
  symlinkSync('/nonexistent/hooks.json', at('.cursor/hooks.json'));
  expect(await palyra('install', 'cursor', '--yes')).toMatchObject({ exit: 2 });
  expect(lstatSync(at('.cursor/hooks.json')).isSymbolicLink()).toBe(true);
  expect(readlinkSync(at('.cursor/hooks.json'))).toBe('/nonexistent/hooks.json');
}, 60_000);
