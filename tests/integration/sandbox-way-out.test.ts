import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  createSandbox,
  type Gate,
  hintsFor,
  type RunResult,
  type Sandbox,
  type SandboxCommand,
  type SandboxProfile,
} from '@palyra/sandbox';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sandboxProfile } from '../sandbox-profile.ts';
import { until } from './launched-job.ts';

const LABEL_GATE = fileURLToPath(new URL('../attack/programs/label-gate.mjs', import.meta.url));

let place: string;
let program: string;
let workspace: string;
let sandbox: Sandbox;
let gate: Gate;
let said = '';

beforeAll(async () => {
  place = mkdtempSync(join(tmpdir(), 'palyra-way-out-'));
  workspace = mkdtempSync(join(tmpdir(), 'palyra-way-out-work-'));
  // As root the tool is somebody else, and the gate a third one.
  for (const path of [place, workspace]) chmodSync(path, 0o755);
  // Once: a gate is open before it has read its program, and one that is copied over it is empty for a moment.
  program = join(place, 'label-gate.mjs');
  copyFileSync(LABEL_GATE, program);
  // What waits for the next command would be left behind by each test.
  sandbox = await openSandbox('off');
  gate = await openGate(sandbox);
  gate.onOutput((bytes) => (said += Buffer.from(bytes).toString()));
});
afterAll(async () => {
  await sandbox.close();
  for (const path of [place, workspace]) rmSync(path, { recursive: true });
});

function openSandbox(pool: 'off' | object): Promise<Sandbox> {
  const logger = { error: () => undefined };
  const operator = { path: '/usr/bin:/bin', home: '/nonexistent', palyraHome: join(place, 'home'), environment: {} };
  return createSandbox({ operator, logger, pool });
}

function openGate(from: Sandbox): Promise<Gate> {
  return from.openGate({ argv: [process.execPath, program], environment: {}, readFrom: [process.execPath] });
}

const STRICT: Partial<SandboxProfile> = { egress: { mode: 'strict', hosts: ['example.test:80'] } };

function run(argv: readonly string[], label: string, change: Partial<SandboxProfile> = {}): Promise<RunResult> {
  const command: SandboxCommand = { argv };
  return sandbox.run(command, sandboxProfile(workspace, { ...STRICT, ...change }), { wayOut: { gate, label } });
}

const sh = (text: string) => ['sh', '-c', text];
const stdoutOf = (result: RunResult) => ('output' in result ? Buffer.from(result.output.stdout).toString('utf8') : '');
const GET = ['curl', '-sS', 'http://example.test/'];

test('each call is known by its label, started ahead or not, one after the other and at once', async () => {
  const pooling = await openSandbox({});
  const ownGate = await openGate(pooling);
  const profile = sandboxProfile(workspace, STRICT);
  const get = (label: string) => pooling.run({ argv: GET }, profile, { wayOut: { gate: ownGate, label } });
  expect(await get('cold-1')).toMatchObject({
    kind: 'completed',
    exitCode: 0,
    pooled: false,
    enforcement: { fileSystem: 'isolated', network: 'isolated' },
    facts: { listener: 'passed', network: 'isolated' },
  });
  await get('cold-2');
  expect(await pooling.warmed()).toBeGreaterThan(0);
  const labels = Array.from({ length: 6 }, (_, at) => `call.${at}_x-Y`);
  const results = await Promise.all(labels.map(get));
  expect(results.map(stdoutOf)).toEqual(labels);
  const pooled = results.map((result) => 'pooled' in result && result.pooled);
  expect(new Set(pooled)).toEqual(new Set([true, false]));
  // One that waits for a command with a way out is nobody's without one, and the other way around.
  const offline = await pooling.run({ argv: GET }, sandboxProfile(workspace));
  expect(offline).toMatchObject({ pooled: false, exitCode: 6, facts: { listener: 'none' } });
  await pooling.close();
  await ownGate.ended;
});

describe('what finds the way out by itself', () => {
  const FETCH = `fetch('http://example.test/').then((r) => r.text()).then((text) => process.stdout.write(text))`;
  const HTTP = `require('http').get('http://example.test/', (r) => r.pipe(process.stdout))`;
  const URLLIB = `import urllib.request\nprint(urllib.request.urlopen('http://example.test/').read().decode(), end='')`;
  const TOOLS: readonly (readonly [string, readonly string[]])[] = [
    ['curl through a tunnel', ['curl', '-sSp', 'http://example.test:8080/']],
    ['python', ['python3', '-c', URLLIB]],
    ['node, fetch', [process.execPath, '-e', FETCH]],
    ['node, http', [process.execPath, '-e', HTTP]],
    // What it is answered is no repository, and it says whose answer that was.
    [
      'git',
      sh(
        'GIT_TRACE_CURL=1 git ls-remote http://example.test/x.git 2>&1 | sed -n "s/.*Info: *Connected to 127.0.0.1.*3128.*/tool-git/p" | head -n 1 | tr -d "\\n"',
      ),
    ],
  ];
  test.each(TOOLS)('%s', async (name, argv) => {
    const label = `tool-${name.replaceAll(/\W/g, '')}`;
    const result = await run(argv, label, { readOnlyPaths: [process.execPath] });
    expect('output' in result && Buffer.from(result.output.stderr).toString()).toBe('');
    expect(stdoutOf(result)).toBe(label);
  });
});

test('a server inside is reached without the proxy, and a name is not resolved but refused at once', async () => {
  const inside = `
import http.server, socket, threading, urllib.request
server = http.server.HTTPServer(('127.0.0.1', 8080), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=server.serve_forever, daemon=True).start()
for host in ('localhost', '127.0.0.1'):
  print(urllib.request.urlopen(f'http://{host}:8080/').status)
try: socket.getaddrinfo('example.test', 80)
except socket.gaierror as error: print('unknown')
`;
  const result = await run(['python3', '-c', inside], 'inside');
  expect(stdoutOf(result)).toBe('200\n200\nunknown\n');
});

test('who does not use the proxy is told to', async () => {
  const result = await run(['curl', '-sS', '--noproxy', '*', 'http://example.test/'], 'noproxy');
  expect(hintsFor(result)).toEqual([
    expect.objectContaining({ kind: 'network', fix: expect.stringContaining('http://127.0.0.1:3128') }),
  ]);
});

test('what is not restricted says so, and no hosts is a way out that asks', async () => {
  const open = await run(GET, 'open', { egress: { mode: 'none', hosts: [] } });
  expect(open).toMatchObject({ exitCode: 0, enforcement: { fileSystem: 'isolated', network: 'open' } });
  const asking = await run(GET, 'asking', { egress: { mode: 'strict', hosts: [] } });
  expect(asking).toMatchObject({ exitCode: 0, enforcement: { network: 'isolated' }, facts: { listener: 'passed' } });
});

test('a plan and a binding know of the way out when they are told', async () => {
  const profile = sandboxProfile(workspace, STRICT);
  const command = { argv: GET };
  expect(await sandbox.plan(command, profile)).toMatchObject({ kind: 'refused', code: 'sandbox.unsupported' });
  expect(await sandbox.bind(command, profile)).toMatchObject({ kind: 'refused', code: 'sandbox.unsupported' });
  expect(await sandbox.plan(command, profile, { wayOut: true })).toMatchObject({ plan: { listener: true } });
  const bound = await sandbox.bind(command, profile, { wayOut: true });
  if (bound.kind === 'refused') throw new Error(bound.message);
  const result = await sandbox.run(command, profile, { bound, wayOut: { gate, label: 'bound' } });
  expect(stdoutOf(result)).toBe('bound');
});

test('the gate hears what is written, however much, and forgets what it is told to', async () => {
  await Promise.all(Array.from({ length: 40 }, () => gate.write(Buffer.alloc(50_000, '.'))));
  await gate.write(Buffer.from('\nforget bound\n'));
  await until(() => said.includes('forgotten bound'));
  expect(said).toContain('listener bound\n');
});

test('a gate that is closed, or that another sandbox has, takes nothing; the next one does', async () => {
  const other = await openGate(sandbox);
  await other.close();
  await expect(other.write(Buffer.from('x'))).rejects.toMatchObject({ code: 'sandbox.gate_closed' });
  const through = (wayOut: { gate: Gate; label: string }) =>
    sandbox.run({ argv: GET }, sandboxProfile(workspace, STRICT), { wayOut });
  const refused = { kind: 'refused', code: 'sandbox.gate_closed' };
  expect(await through({ gate: other, label: 'late' })).toMatchObject(refused);
  expect(await through({ gate: { ...gate }, label: 'stranger' })).toMatchObject(refused);
  const next = await openGate(sandbox);
  expect(stdoutOf(await through({ gate: next, label: 'next' }))).toBe('next');
  await next.close();
});

test('a program that is not there is no gate', async () => {
  // Its pipes come by one way and its end by another, in either order.
  const useIt = async () => {
    const opened = await sandbox.openGate({ argv: ['/nonexistent/node'], environment: {} });
    await opened.ended;
    await opened.write(Buffer.from('x'));
  };
  await expect(useIt()).rejects.toMatchObject({ code: 'sandbox.gate_closed' });
});

test('nothing is started with a gate that was closed, and nothing written to it', async () => {
  const opened = await openGate(sandbox);
  await opened.close();
  await expect(opened.write(Buffer.from('x'))).rejects.toMatchObject({ code: 'sandbox.gate_closed' });
  expect(
    await sandbox.run({ argv: GET }, sandboxProfile(workspace, STRICT), { wayOut: { gate: opened, label: 'x' } }),
  ).toMatchObject({ kind: 'refused', code: 'sandbox.gate_closed' });
});

test.runIf(process.getuid?.() === 0)(
  'a program in a home that nobody else may enter is handed over to the gate, to be read [needs: root]',
  async () => {
    const home = mkdtempSync(join(tmpdir(), 'palyra-way-out-home-'));
    const hidden = join(home, 'code', 'label-gate.mjs');
    mkdirSync(join(home, 'code'));
    copyFileSync(LABEL_GATE, hidden);
    copyFileSync(process.execPath, join(home, 'node'));
    chmodSync(join(home, 'node'), 0o755);
    const argv = [join(home, 'node'), hidden];
    await expect(sandbox.openGate({ argv, environment: {} })).rejects.toMatchObject({
      code: 'sandbox.unsafe_identity',
    });
    const opened = await sandbox.openGate({
      argv,
      environment: {},
      readFrom: [join(home, 'node'), join(home, 'code')],
    });
    const wayOut = { gate: opened, label: 'from-a-home' };
    const result = await sandbox.run({ argv: GET }, sandboxProfile(workspace, STRICT), { wayOut });
    expect(stdoutOf(result)).toContain('from-a-home');
    await opened.close();
    rmSync(home, { recursive: true });
  },
);

/** Waits for nothing but gates, and ends by itself although one is open. */
const WAITS_FOR_GATES = `
import { createSandbox } from '@palyra/sandbox';
const operator = { path: '/usr/bin:/bin', home: '/nonexistent', palyraHome: '/nonexistent/home', environment: {} };
const sandbox = await createSandbox({ operator, logger: console, pool: 'off' });
const program = { argv: [process.execPath, process.env.PROGRAM], environment: {}, readFrom: [process.execPath] };
const gate = await sandbox.openGate(program);
gate.onOutput(() => undefined);
process.stdout.write('open ');
await gate.close();
process.stdout.write('closed ');
await sandbox.openGate(program);
process.stdout.write('left open');
`;

test('whoever opens a gate, or closes it, lives until that is done; an open one keeps no process alive', () => {
  const printed = execFileSync(
    process.execPath,
    ['--conditions=palyra-source', '--input-type=module-typescript', '-e', WAITS_FOR_GATES],
    {
      cwd: fileURLToPath(new URL('../../', import.meta.url)),
      env: { ...process.env, PROGRAM: program },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 30_000,
    },
  );
  expect(printed.toString()).toBe('open closed left open');
});
