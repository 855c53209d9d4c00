import { describe, expect, test } from 'vitest';
import { CliError } from './cli-error.ts';
import type { CommandDefinition } from './command.ts';
import { type Invocation, parseCommandLine, wantsJson } from './parse-command-line.ts';

function command(name: string, more: Partial<CommandDefinition> = {}): CommandDefinition {
  const run = () => Promise.reject(new Error('not run here'));
  return { name, group: 'Configuration', summary: `Do ${name}`, run, ...more };
}

const FILE = { name: 'FILE', summary: 'a file', isRequired: true };
const show = command('config show');
const check = command('config check', { arguments: [FILE], options: [{ flags: '--ttl <time>', summary: 'how long' }] });
const status = command('status');
const COMMANDS = [show, check, status];

function parse(line: string): Invocation {
  return parseCommandLine(line.split(' ').filter(Boolean), COMMANDS);
}

function refusal(line: string): readonly [string, string, string | undefined] {
  try {
    parse(line);
  } catch (thrown) {
    if (thrown instanceof CliError) return [thrown.code, thrown.message, thrown.fix];
    throw thrown;
  }
  throw new Error('it was accepted');
}

test.each(['config show', '--json config show', 'config --json show', 'config show --json'])(
  'global options may stand anywhere: %s',
  (line) => {
    expect(parse(line)).toEqual({
      kind: 'run',
      command: show,
      input: { arguments: [], rest: [], options: {} },
      home: undefined,
    });
  },
);

test('arguments and options reach the command, and what follows -- is its own', () => {
  expect(parse('config check a.toml --ttl 5m --home /h')).toEqual({
    kind: 'run',
    command: check,
    input: { arguments: ['a.toml'], rest: [], options: { ttl: '5m' } },
    home: '/h',
  });
  expect(parse('config check -- --json')).toMatchObject({ input: { arguments: ['--json'] } });
  expect(parse('status')).toMatchObject({ kind: 'run', command: status });
});

test('help is about what stands before it', () => {
  expect(
    ['', '--help', '-h', 'help', 'config --help', 'help config', 'config check --help', 'help config check'].map(parse),
  ).toEqual([
    { kind: 'help', topic: { kind: 'program' } },
    { kind: 'help', topic: { kind: 'program' } },
    { kind: 'help', topic: { kind: 'program' } },
    { kind: 'help', topic: { kind: 'program' } },
    { kind: 'help', topic: { kind: 'noun', noun: 'config' } },
    { kind: 'help', topic: { kind: 'noun', noun: 'config' } },
    { kind: 'help', topic: { kind: 'command', command: check } },
    { kind: 'help', topic: { kind: 'command', command: check } },
  ]);
});

test('the version is asked for in both spellings', () => {
  for (const line of ['--version', '-V', '--json --version']) expect(parse(line)).toEqual({ kind: 'version' });
});

describe('a command line that does not parse', () => {
  const HELP = 'The same command with --help says what it takes.';
  const LIST = '"palyra --help" lists the commands.';
  test.each([
    ['confg show', 'cli.unknown_command', 'There is no command "confg".', 'Did you mean "palyra config"?'],
    ['stauts', 'cli.unknown_command', 'There is no command "stauts".', 'Did you mean "palyra status"?'],
    ['check', 'cli.unknown_command', 'There is no command "check".', 'Did you mean "palyra config check"?'],
    ['config chek', 'cli.unknown_command', 'There is no command "config chek".', 'Did you mean "palyra config check"?'],
    ['config xyzzy', 'cli.unknown_command', 'There is no command "config xyzzy".', LIST],
    ['frobnicate --help', 'cli.unknown_command', 'There is no command "frobnicate".', LIST],
    ['help frobnicate', 'cli.unknown_command', 'There is no command "frobnicate".', LIST],
    ['\u001b[2J', 'cli.unknown_command', 'There is no command "\\u{1B}[2J".', LIST],
    [
      'config',
      'cli.missing_command',
      '"palyra config" needs one of: show, check.',
      '"palyra config --help" says what they do.',
    ],
    ['-- config show', 'cli.missing_command', 'There is no command before "--".', LIST],
    ['--jsn', 'cli.unknown_option', 'There is no option --jsn here.', 'Did you mean --json?'],
    ['config show --frob', 'cli.unknown_option', 'There is no option --frob here.', HELP],
    ['config check a --tll=5', 'cli.unknown_option', 'There is no option --tll=5 here.', 'Did you mean --ttl?'],
    ['config show -x', 'cli.unknown_option', 'There is no option -x here.', HELP],
    ['config show --json=1', 'cli.unknown_option', 'There is no option --json=1 here.', 'Did you mean --json?'],
    ['config check', 'cli.missing_argument', 'The argument FILE is missing.', HELP],
    ['config check a b', 'cli.too_many_arguments', 'There are more arguments than the command takes.', HELP],
    ['config check a --ttl', 'cli.missing_value', 'The option --ttl time needs a value.', HELP],
    ['config show --home', 'cli.missing_value', 'The option --home DIR needs a value.', HELP],
  ])('%s', (line, code, message, fix) => {
    expect(refusal(line)).toEqual([code, message, fix]);
  });

  test('an option is never taken for the home', () => {
    expect(refusal('config show --home --json')[0]).toBe('cli.missing_value');
    expect(refusal('--home= config show')[0]).toBe('cli.missing_value');
  });
});

test('JSON is asked for before --, not after', () => {
  expect([['--json'], ['x', '--json'], ['x', '--', '--json'], []].map(wantsJson)).toEqual([true, true, false, false]);
});
