import { Readable, Writable } from 'node:stream';
import { AppError } from '@palyra/primitives';
import { expect, test } from 'vitest';
import type { CommandDefinition, CommandResult } from './command.ts';
import { runCli } from './run-cli.ts';

interface Run {
  readonly argv: readonly string[];
  readonly run?: CommandDefinition['run'];
  readonly variables?: Record<string, string>;
  readonly stdout?: Writable;
  readonly signal?: AbortSignal;
  readonly isTTY?: boolean;
}

function memory(printed: string[], isTTY: boolean): Writable & { isTTY: boolean } {
  const stream = new Writable({ write: (chunk, _encoding, done) => done(void printed.push(String(chunk))) });
  return Object.assign(stream, { isTTY });
}

async function cli({ argv, run, variables = {}, stdout, signal, isTTY = false }: Run) {
  const out: string[] = [];
  const err: string[] = [];
  const result = async (): Promise<CommandResult> => ({
    json: { ok: true },
    render: (paint) => paint('name', 'ok\n'),
    warnings: ['Mind this.'],
  });
  const act: CommandDefinition = { name: 'act now', group: 'Configuration', summary: 'Act', run: run ?? result };
  const exit = await runCli({
    argv,
    version: '1.2.3',
    nodeVersion: '24.0.0',
    commands: [act],
    variables: { PALYRA_HOME: '/nonexistent/palyra', ...variables },
    userHome: () => '/nonexistent',
    openStdin: () => Readable.from([]),
    stdout: stdout ?? memory(out, isTTY),
    stderr: memory(err, isTTY),
    workingDirectory: () => '/',
    signal: signal ?? new AbortController().signal,
  });
  return { exit, out: out.join(''), err: err.join('') };
}

class DemoError extends AppError {}

function failing(thrown: unknown): () => Promise<never> {
  return async () => {
    // oxlint-disable-next-line typescript/only-throw-error -- what a careless library throws is what is tested
    throw thrown;
  };
}

test('a person gets text on standard output and warnings on standard error', async () => {
  expect(await cli({ argv: ['act', 'now'] })).toEqual({ exit: 0, out: 'ok\n', err: 'warning: Mind this.\n' });
});

test('a program gets one JSON document and nothing else', async () => {
  expect(await cli({ argv: ['act', 'now', '--json'] })).toEqual({ exit: 0, out: '{"ok":true}\n', err: '' });
});

test('colour is for terminals, and not for those who ask for none', async () => {
  const onTerminal = await cli({ argv: ['act', 'now'], isTTY: true });
  expect(onTerminal.out).toContain('\u001b[');
  for (const variables of [{ NO_COLOR: '1' }, { TERM: 'dumb' }]) {
    expect(await cli({ argv: ['act', 'now'], isTTY: true, variables })).toMatchObject({
      out: 'ok\n',
      err: 'warning: Mind this.\n',
    });
  }
});

test('what another program writes takes the place of progress, and does not stand behind it', async () => {
  const run: CommandDefinition['run'] = async (_input, { terminal, openOutput }) => {
    terminal?.progress('Starting ...');
    openOutput().stderr.write('theirs\n');
    return { json: null, render: () => '' };
  };
  const cleared = '\r\u001B[K';
  expect((await cli({ argv: ['act', 'now'], run, isTTY: true })).err).toBe(`${cleared}Starting ...${cleared}theirs\n`);
});

test('an error is told on standard error in both forms', async () => {
  const run = failing(new DemoError('config.demo', 'It is\u001b[2J broken: C:\\x.', { fix: 'Mend it.' }));
  expect(await cli({ argv: ['act', 'now'], run })).toEqual({
    exit: 2,
    out: '',
    err: 'error[config.demo]: It is\\u{1B}[2J broken: C:\\x.\nfix: Mend it.\n',
  });
  const { exit, out, err } = await cli({ argv: ['act', 'now', '--json'], run });
  expect([exit, out, JSON.parse(err)]).toEqual([
    2,
    '',
    { error: { code: 'config.demo', message: 'It is\u001b[2J broken: C:\\x.', fix: 'Mend it.' } },
  ]);
});

test.each([
  ['config.file_exists', 7],
  ['cli.output_failed', 1],
  ['cli.unknown_option', 2],
  ['nowhere.listed', 1],
  ['nodots', 1],
])('the code %s exits with %i', async (code, exit) => {
  expect((await cli({ argv: ['act', 'now'], run: failing(new DemoError(code, 'Broken.')) })).exit).toBe(exit);
});

test('an unexpected fault says where to report it, and nothing of its inside unless asked', async () => {
  const run = failing(new TypeError('secret inside'));
  const quiet = await cli({ argv: ['act', 'now'], run });
  expect(quiet).toMatchObject({ exit: 1, out: '' });
  expect(quiet.err).toMatch(/^error\[internal\]: .*\nfix: .*hosted.*PALYRA_LOG=debug.*\n$/);

  const loud = await cli({ argv: ['act', 'now'], run, variables: { PALYRA_LOG: 'debug' } });
  expect(loud.err).toContain('TypeError: secret inside\n    at ');

  const json = await cli({ argv: ['act', 'now', '--json'], run, variables: { PALYRA_LOG: 'debug' } });
  expect(JSON.parse(json.err).error).toMatchObject({
    code: 'internal',
    stack: expect.stringContaining('secret inside'),
  });
});

test.each([undefined, null, 'text', Object.create(null), 7n])(
  'whatever is thrown ends as an internal fault: %s',
  async (thrown) => {
    for (const PALYRA_LOG of ['info', 'debug']) {
      const { exit, err } = await cli({ argv: ['act', 'now'], run: failing(thrown), variables: { PALYRA_LOG } });
      expect([exit, err.split(':', 1)]).toEqual([1, ['error[internal]']]);
    }
  },
);

test('a reader that went away is no failure', async () => {
  const stdout = new Writable({
    write: (_chunk, _encoding, done) => done(Object.assign(new Error('gone'), { code: 'EPIPE' })),
  });
  expect(await cli({ argv: ['act', 'now', '--json'], stdout })).toEqual({ exit: 0, out: '', err: '' });
});

test('output that is lost is a failure', async () => {
  const stdout = new Writable({
    write: (_chunk, _encoding, done) => done(Object.assign(new Error('full'), { code: 'ENOSPC' })),
  });
  expect(await cli({ argv: ['act', 'now'], stdout })).toMatchObject({
    exit: 1,
    err: expect.stringMatching(/^error\[cli\.output_failed\]/),
  });
});

test('an interrupted command exits with 130 and says nothing, also when it does not listen', async () => {
  const interruption = new AbortController();
  const run = () => {
    queueMicrotask(() => interruption.abort());
    return new Promise<CommandResult>(() => undefined);
  };
  expect(await cli({ argv: ['act', 'now'], run, signal: interruption.signal })).toEqual({
    exit: 130,
    out: '',
    err: '',
  });
});

test('the version has both forms', async () => {
  expect(await cli({ argv: ['--version'] })).toEqual({ exit: 0, out: 'palyra 1.2.3\n', err: '' });
  expect((await cli({ argv: ['--version', '--json'] })).out).toBe('{"version":"1.2.3","node":"24.0.0"}\n');
});

test('what is too long to hold goes out as it comes, for people and programs alike', async () => {
  async function* parts() {
    yield '{"a":1}\n';
    yield '{"a":2}\n';
  }
  const run = async (): Promise<CommandResult> => ({ json: null, render: () => 'unused', stream: parts() });
  const printed = { exit: 0, out: '{"a":1}\n{"a":2}\n', err: '' };
  expect(await cli({ argv: ['act', 'now'], run })).toEqual(printed);
  expect(await cli({ argv: ['act', 'now', '--json'], run })).toEqual(printed);
});

test('a command that did its work can still have a bad answer', async () => {
  const run = async (): Promise<CommandResult> => ({ json: { ok: false }, render: () => 'BROKEN\n', exitCode: 7 });
  expect(await cli({ argv: ['act', 'now'], run })).toEqual({ exit: 7, out: 'BROKEN\n', err: '' });
});

test('bytes go out as they are, but a terminal gets what was made safe for it', async () => {
  const run = async (): Promise<CommandResult> => ({
    json: { size: 2 },
    render: () => 'safe\n',
    bytes: Buffer.from('\u001b['),
    warnings: ['Some are missing.'],
  });
  const argv = ['act', 'now'];
  expect(await cli({ argv, run })).toEqual({ exit: 0, out: '\u001b[', err: 'warning: Some are missing.\n' });
  expect(await cli({ argv, run, isTTY: true, variables: { NO_COLOR: '1' } })).toMatchObject({ out: 'safe\n' });
  expect(await cli({ argv: [...argv, '--json'], run })).toEqual({ exit: 0, out: '{"size":2}\n', err: '' });
});
