import { spawn, spawnSync } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SECTIONS } from '@palyra/config';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { runInProcess } from './cli-in-process.ts';

const BIN = fileURLToPath(new URL('../../apps/cli/bin/palyra.mjs', import.meta.url));
const PACKAGE: unknown = JSON.parse(readFileSync(new URL('../../apps/cli/package.json', import.meta.url), 'utf8'));
const VERSION = String(Object(PACKAGE).version);

interface Ended {
  readonly exit: number | string | null;
  readonly out: string;
  readonly err: string;
}

interface Start {
  readonly input?: string;
  readonly variables?: Record<string, string>;
  /** Sends SIGINT once the input is taken, and leaves standard input open. */
  readonly interruptAfterInput?: boolean;
  readonly stdout?: number;
}

let home = '';
let parent = '';

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'palyra-e2e-'));
  home = join(parent, 'home');
});

afterEach(() => rmSync(parent, { recursive: true }));

async function palyra(args: readonly string[], start: Start = {}): Promise<Ended> {
  const { input = '', variables = {}, interruptAfterInput = false, stdout } = start;
  const { PALYRA_LOG: _log, NO_COLOR: _colour, ...inherited } = process.env;
  const child = spawn(process.execPath, [BIN, ...args], {
    cwd: parent,
    env: { ...inherited, PALYRA_HOME: home, ...variables },
    stdio: ['pipe', stdout ?? 'pipe', 'pipe'],
  });
  const out: string[] = [];
  const err: string[] = [];
  child.stdout?.setEncoding('utf8').on('data', (text: string) => void out.push(text));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => void err.push(text));
  if (interruptAfterInput) child.stdin?.write(input, () => child.kill('SIGINT'));
  else child.stdin?.end(input);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ exit: code ?? signal, out: out.join(''), err: err.join('') }));
  });
}

function writeToml(text: string): string {
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const file = join(home, 'palyra.toml');
  writeFileSync(file, text, { mode: 0o600 });
  return file;
}

describe('version and help', () => {
  test('--version has both forms', async () => {
    expect(await palyra(['--version'])).toEqual({ exit: 0, out: `palyra ${VERSION}\n`, err: '' });
    const { exit, out, err } = await palyra(['--version', '--json']);
    expect([exit, JSON.parse(out), err]).toEqual([0, { version: VERSION, node: process.versions.node }, '']);
  });

  test('--help fits 24 lines of 80 columns, has no colour in a pipe, and lists only what runs', async () => {
    const { exit, out, err } = await palyra(['--help']);
    const lines = out.trimEnd().split('\n');
    expect([exit, err, lines.length < 24, Math.max(...lines.map((line) => line.length)) <= 80]).toEqual([
      0,
      '',
      true,
      true,
    ]);
    expect(out).not.toContain('\u001b');
    expect(out).toMatch(/Agents +wrap, exec, install, uninstall, mcp, log, why/);
    expect(out).toMatch(/Configuration +config/);
  });

  test('--help --json lists commands that each answer to --help', async () => {
    const { commands } = JSON.parse((await palyra(['--help', '--json'])).out) as { commands: { name: string }[] };
    expect(commands.length).toBeGreaterThan(0);
    // In this process: what is asked is the command table, and a process for each would take half a minute.
    const answers = await Promise.all(
      commands.map(({ name }) =>
        runInProcess({ args: [...name.split(' '), '--help'], cwd: parent, variables: {}, input: '' }),
      ),
    );
    expect(answers.map(({ exit, err }) => [exit, err])).toEqual(answers.map(() => [0, '']));
  });
});

describe('errors', () => {
  test('an unknown command exits with 2, suggests one, and leaves standard output empty', async () => {
    expect(await palyra(['confg', 'show'])).toEqual({
      exit: 2,
      out: '',
      err: 'error[cli.unknown_command]: There is no command "confg".\nfix: Did you mean "palyra config"?\n',
    });
    const { exit, out, err } = await palyra(['config', 'shw', '--json']);
    expect([exit, out, JSON.parse(err)]).toEqual([
      2,
      '',
      {
        error: {
          code: 'cli.unknown_command',
          message: 'There is no command "config shw".',
          fix: 'Did you mean "palyra config show"?',
        },
      },
    ]);
  });

  test('an unknown option exits with 2', async () => {
    expect(await palyra(['config', 'show', '--jsn'])).toMatchObject({
      exit: 2,
      out: '',
      err: expect.stringContaining('Did you mean --json?'),
    });
  });

  test('bad TOML is told with its line and column', async () => {
    const file = writeToml('[log]\nlevel = "info\n');
    const { exit, out, err } = await palyra(['config', 'show']);
    expect([exit, out, err.split('\n', 1)[0]]).toEqual([
      2,
      '',
      `error[config.invalid_toml]: ${file}:2:14: This is not TOML: control characters are not allowed in strings.`,
    ]);
  });

  test('every problem of a file is told at once, also to a program', async () => {
    writeToml('[storage]\nurll = ""\npool_size = 0\n');
    const { exit, err } = await palyra(['config', 'check', '--json']);
    expect([exit, JSON.parse(err)]).toMatchObject([
      2,
      {
        error: {
          code: 'config.unknown_key',
          problems: [
            { code: 'config.unknown_key', key: 'storage.urll', line: 2, column: 1, fix: 'Did you mean "url"?' },
            { code: 'config.invalid_value', key: 'storage.pool_size', line: 3, column: 13 },
          ],
        },
      },
    ]);
  });
});

describe('config', () => {
  test('show needs no home and creates none', async () => {
    const { exit, out, err } = await palyra(['config', 'show', '--json']);
    expect([exit, JSON.parse(out), err]).toEqual([
      0,
      {
        home,
        file: { path: join(home, 'palyra.toml'), present: false },
        // Every setting there is, by the schema: a new one is shown without a word here.
        settings: Object.fromEntries(
          SECTIONS.flatMap(({ settings }) => settings).map(({ key, default: value }) => [
            key,
            { value, source: 'default' },
          ]),
        ),
        warnings: [],
      },
      '',
    ]);
    expect(existsSync(home)).toBe(false);
  });

  test('show tells the source of each value, hides the password, and warns of variables that nothing reads', async () => {
    const file = writeToml('[storage]\nurl = "postgres://palyra:hunter2@db/palyra"\n');
    const { exit, out, err } = await palyra(['config', 'show'], { variables: { PALYRA_LOG: 'warn', PALYRA_URL: 'x' } });
    expect(exit).toBe(0);
    expect(err).toBe(
      'warning: The environment variable PALYRA_URL is ignored. Only PALYRA_HOME and PALYRA_LOG are read.\n',
    );
    const [first, , heading, ...rows] = out.trimEnd().split('\n');
    expect(first).toBe(`File: ${file}`);
    expect(heading).toMatch(/^SETTING +SOURCE +VALUE$/);
    const shown = rows.map((row) => row.split(/ {2,}/));
    expect(shown.map(([name]) => name)).toEqual(SECTIONS.flatMap(({ settings }) => settings.map(({ key }) => key)));
    expect(shown).toContainEqual(['storage.url', 'file', '"postgres://palyra:***@db/palyra"']);
    expect(shown).toContainEqual(['policy.preset', 'default', '"coding"']);
    expect(shown).toContainEqual(['log.level', 'environment', '"warn"']);
  });

  test('init writes a file that check accepts, and never overwrites one', async () => {
    expect(await palyra(['config', 'init'])).toMatchObject({ exit: 0, err: '' });
    expect(await palyra(['config', 'check'])).toEqual({
      exit: 0,
      out: `${join(home, 'palyra.toml')} is valid.\n`,
      err: '',
    });
    expect(await palyra(['config', 'init'])).toMatchObject({
      exit: 7,
      out: '',
      err: expect.stringContaining('error[config.file_exists]'),
    });
  });

  test('--home wins over PALYRA_HOME, also with a relative path', async () => {
    expect(await palyra(['config', 'init', '--home', 'other'])).toMatchObject({ exit: 0 });
    expect([existsSync(join(parent, 'other', 'palyra.toml')), existsSync(home)]).toEqual([true, false]);
  });

  test('check takes a file or standard input', async () => {
    writeFileSync(join(parent, 'mine.toml'), '[lg]\n', { mode: 0o600 });
    expect(await palyra(['config', 'check', 'mine.toml'])).toMatchObject({
      exit: 2,
      err: expect.stringContaining('mine.toml:1:2: Unknown section [lg].'),
    });
    expect(await palyra(['config', 'check', 'none.toml'])).toMatchObject({
      exit: 2,
      err: expect.stringContaining('is not there'),
    });
    expect(await palyra(['config', 'check', '-'], { input: '[log]\nlevel = "warn"\n' })).toEqual({
      exit: 0,
      out: 'stdin is valid.\n',
      err: '',
    });
    expect(await palyra(['config', 'check', '-'], { input: 'x = 1' })).toMatchObject({
      exit: 2,
      err: expect.stringContaining('stdin:1:1:'),
    });
  });
});

describe('the process', () => {
  test('Ctrl-C while it waits exits with 130 and prints nothing', async () => {
    // More than a pipe holds: once it is taken, the command is reading and waits for the rest.
    const input = '#'.repeat(512 * 1024);
    expect(await palyra(['config', 'check', '-'], { input, interruptAfterInput: true })).toEqual({
      exit: 130,
      out: '',
      err: '',
    });
  });

  test('output that cannot be written is a failure', async () => {
    const full = openSync('/dev/full', 'w');
    try {
      expect(await palyra(['--help'], { stdout: full })).toMatchObject({
        exit: 1,
        err: expect.stringContaining('error[cli.output_failed]'),
      });
    } finally {
      closeSync(full);
    }
  });

  test('a reader that went away is none: palyra … | head', () => {
    const script = 'set -o pipefail; "$0" "$1" --help | true';
    const { status, stderr } = spawnSync('bash', ['-c', script, process.execPath, BIN], { encoding: 'utf8' });
    expect([status, stderr]).toEqual([0, '']);
  });

  test('a directory that is gone is no fault unless it is needed', () => {
    const script = 'mkdir gone && cd gone && rmdir ../gone && "$0" "$1" --version && "$0" "$1" config show --json';
    const options = { encoding: 'utf8', cwd: parent, env: { ...process.env, PALYRA_HOME: home } } as const;
    const { status, stdout } = spawnSync('bash', ['-c', script, process.execPath, BIN], options);
    expect([status, stdout.split('\n', 1)[0]]).toEqual([0, `palyra ${VERSION}`]);
  });
});

describe('config set', () => {
  test('changes one setting and leaves the rest of the file as it was', async () => {
    const file = writeToml('# mine\n[log]\nlevel = "warn" # quiet\n');
    expect(await palyra(['config', 'set', 'log.level', 'error'])).toMatchObject({ exit: 0, err: '' });
    expect(await palyra(['config', 'set', 'storage.pool_size', '3'])).toMatchObject({ exit: 0, err: '' });
    expect(readFileSync(file, 'utf8')).toBe('# mine\n[log]\nlevel = "error" # quiet\n\n[storage]\npool_size = 3\n');
  });

  test('makes the home and the file when they are not there', async () => {
    expect(await palyra(['config', 'set', 'log.level', 'warn'])).toMatchObject({ exit: 0 });
    expect(readFileSync(join(home, 'palyra.toml'), 'utf8')).toBe('[log]\nlevel = "warn"\n');
  });

  test.each([
    [['log.levl', 'warn'], 'cli.invalid_option', 'Did you mean log.level?'],
    [['log.level', 'loud'], 'config.invalid_value', 'one of debug, info, warn, error, silent'],
    [['storage.pool_size', '0'], 'config.invalid_value', 'a whole number from 1 to 1000'],
    [['storage.pool_size', '1e3'], 'config.invalid_value', 'a whole number from 1 to 1000'],
  ])('%j is refused and changes nothing', async (words, code, said) => {
    const file = writeToml('[log]\nlevel = "warn"\n');
    const { exit, err } = await palyra(['config', 'set', ...words]);
    expect([exit, readFileSync(file, 'utf8')]).toEqual([2, '[log]\nlevel = "warn"\n']);
    expect(err).toContain(`error[${code}]`);
    expect(err).toContain(said);
  });

  test('takes an address from standard input only', async () => {
    const address = 'postgres://palyra:hunter2@db.example/palyra';
    expect(await palyra(['config', 'set', 'storage.url', '-'], { input: `${address}\n` })).toMatchObject({ exit: 0 });
    expect(readFileSync(join(home, 'palyra.toml'), 'utf8')).toBe(`[storage]\nurl = "${address}"\n`);
  });
});
