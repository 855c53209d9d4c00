import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createTemporaryHome } from '@palyra/testkit';
import { expect, test } from 'vitest';
import { runInProcess } from './cli-in-process.ts';

/** Where each keeps what is changed, and what somebody had there; formatted as no program would. */
const SETTINGS: readonly (readonly [client: string, file: string, text: string | undefined])[] = [
  [
    'claude-code',
    '.claude/settings.json',
    '{"permissions":{"deny":["Read(./.env)"],\n\n "ask":["Bash"]}, "model" : "opus"}',
  ],
  [
    'codex',
    '.codex/hooks.json',
    '{ "hooks": {"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"mine"}]}]} }\r\n',
  ],
  ['cursor', '.cursor/hooks.json', '\uFEFF{"version":1,"hooks":{"stop":[{"command":"./bell.sh"}]}}'],
  ['gemini', '.gemini/settings.json', '{\t"theme":"dark"}\n\n\n'],
  ['goose', '.agents/plugins/palyra/hooks/hooks.json', undefined],
  ['opencode', '.config/opencode/opencode.json', '{"model":"x"}'],
  ['vscode', '.config/Code/User/mcp.json', '{"servers":{"other":{"command":"x"}}}'],
];

test('settings of agents come back to the last byte, and what is not understood is left alone', async () => {
  await using place = await createTemporaryHome();
  const variables = { PATH: '/usr/bin:/bin', HOME: place.path, PALYRA_HOME: join(place.path, 'palyra') };
  const palyra = (...args: readonly string[]) => runInProcess({ args, cwd: place.path, variables, input: '' });
  const read = (file: string) => readFileSync(join(place.path, file), 'utf8');
  const write = (file: string, text: string) => {
    mkdirSync(join(place.path, dirname(file)), { recursive: true });
    writeFileSync(join(place.path, file), text);
  };

  for (const [client, file, before] of SETTINGS) {
    if (before !== undefined) write(file, before);
    // Nobody said yes: the difference is shown, and nothing is changed.
    const asked = await palyra('install', client);
    expect([asked.exit, existsSync(join(place.path, file)) ? read(file) : undefined], `for ${client}`).toEqual([
      9,
      before,
    ]);
    expect(asked.err, `for ${client}`).toContain(`+++ ${join(place.path, file)}`);

    expect(await palyra('install', client, '--yes'), `for ${client}`).toMatchObject({ exit: 0 });
    const installed = read(file);
    expect(installed, `for ${client}`).toContain('palyra');
    expect(installed, `for ${client}`).not.toMatch(/"(?:allow|trust)"/);
    // Twice is once.
    const again = await palyra('install', client, '--yes', '--json');
    expect([JSON.parse(again.out).changed, read(file)], `for ${client}`).toEqual([[], installed]);

    const back = await palyra('uninstall', client, '--yes', '--json');
    const json = JSON.parse(back.out) as { readonly removed: readonly string[] };
    expect(json, `for ${client}`).toMatchObject({ client, exact: true });
    expect(json.removed.includes(join(place.path, file)), `for ${client}`).toBe(before === undefined);
    expect(existsSync(join(place.path, file)) ? read(file) : undefined, `for ${client}`).toBe(before);
  }
  // Directories that were made for it go with it.
  expect(existsSync(join(place.path, '.agents'))).toBe(false);

  // For people: a file that is gone was not changed.
  await palyra('install', 'goose', '--yes');
  expect((await palyra('uninstall', 'goose', '--yes')).out).toBe(
    `Removed ${['hooks/hooks.json', 'plugin.json'].map((name) => join(place.path, '.agents/plugins/palyra', name)).join(', ')}.\n`,
  );
  await palyra('install', 'gemini', '--yes');
  expect((await palyra('uninstall', 'gemini', '--yes')).out).toBe(
    `Changed ${join(place.path, '.gemini/settings.json')}.\n`,
  );

  // Changed since: what others wrote stays, and ours goes.
  await palyra('install', 'claude-code', '--yes');
  write('.claude/settings.json', read('.claude/settings.json').replace('"opus"', '"haiku"'));
  expect(JSON.parse((await palyra('uninstall', 'claude-code', '--yes', '--json')).out)).toMatchObject({ exact: false });
  expect(JSON.parse(read('.claude/settings.json'))).toEqual({
    permissions: { deny: ['Read(./.env)'], ask: ['Bash'] },
    model: 'haiku',
  });

  for (const text of ['{ // mine\n}', '{"hooks":{"PreToolUse":"?"}}', '{"hooks":[]}']) {
    write('.claude/settings.json', text);
    const { exit, err } = await palyra('install', 'claude-code', '--yes');
    expect([exit, read('.claude/settings.json')]).toEqual([7, text]);
    expect(err).toContain('"PreToolUse"');
  }
  expect(await palyra('install', 'hal9000')).toMatchObject({ exit: 8 });
}, 60_000);
