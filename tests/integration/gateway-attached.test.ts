import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { ToolResult } from '../../packages/gateway/src/catalog/tool.ts';
import { createRedactor } from '../../packages/gateway/src/redact/create-redactor.ts';
import { createCaller } from './attached-caller.ts';
import { type GatewayHouse, openHouse, removeHouse } from './gateway-house.ts';
import { executePlan, type GatewayToolsPlace, makeGatewayToolsPlace } from './gateway-tools-place.ts';

const RUN = 'palyra.process.run';
const TERMINAL = { rows: 24, columns: 80 };
const PIPES = { stdin_open: true };
let place: GatewayToolsPlace;

beforeAll(async () => {
  place = await makeGatewayToolsPlace();
});
afterAll(async () => {
  await place.close();
});

const sh = (text: string) => ({ argv: ['sh', '-c', text] });
const python = (text: string) => ({ argv: ['python3', '-c', text] });
/** Without the carriage returns of a terminal. */
const linesOf = (result: ToolResult) =>
  ('stdout' in result ? Buffer.from(result.stdout ?? []).toString('latin1') : '').replaceAll('\r', '');

/** Attached from its beginning to its end. */
function call(input: object) {
  const caller = createCaller();
  return { ...caller, ended: place.call(RUN, input, caller) };
}

describe('through pipes', () => {
  test('what is sent is read as it comes, until it ends', async () => {
    const { type, send, sees, ended } = call({ argv: ['cat'], ...PIPES });
    type('one\n');
    await sees('one\n');
    type('two\n');
    await sees('two\n');
    send({ kind: 'end' });
    const result = await ended;
    expect(result).toMatchObject({ kind: 'completed', exitCode: 0 });
    expect(linesOf(result)).toBe('one\ntwo\n');
    expect(result).toMatchObject({ output: { attached: { input_bytes: 8, signals: {} } } });
  });

  test('there is no terminal, and errors have their own stream', async () => {
    const { ended } = call({ ...sh('test -t 0 || echo none; echo wrong >&2'), ...PIPES });
    const result = await ended;
    expect(linesOf(result)).toBe('none\n');
    expect('stderr' in result && Buffer.from(result.stderr ?? []).toString()).toBe('wrong\n');
  });

  test('much of it arrives whole', async () => {
    const { send, ended } = call({ argv: ['wc', '-c'], ...PIPES });
    for (let piece = 0; piece < 50; piece += 1) send({ kind: 'bytes', bytes: Buffer.alloc(100_000, 'x') });
    send({ kind: 'end' });
    expect(linesOf(await ended).trim()).toBe('5000000');
  });

  test('a signal is heard by who waits for it, also when the input has ended', async () => {
    const { send, sees, ended } = call({
      ...sh('trap "echo got it; exit 3" TERM; cat; echo ready; sleep 1000 & wait'),
      ...PIPES,
    });
    send({ kind: 'end' });
    await sees('ready');
    send({ kind: 'signal', name: 'SIGTERM' });
    const result = await ended;
    expect(result).toMatchObject({ kind: 'completed', exitCode: 3 });
    expect(result).toMatchObject({ output: { attached: { signals: { SIGTERM: 1 } } } });
    expect(linesOf(result)).toBe('ready\ngot it\n');
  });

  test('a signal that nobody waits for ends it, and is named', async () => {
    const { send, sees, ended } = call({ ...sh('echo ready; exec sleep 1000'), ...PIPES });
    await sees('ready');
    send({ kind: 'signal', name: 'SIGHUP' });
    expect(await ended).toMatchObject({ kind: 'failed', signal: 'SIGHUP', code: 'tool.signalled' });
  });

  test('who is still attached when it ends is let go', async () => {
    const { isLetGo, ended } = call({ argv: ['true'], ...PIPES });
    expect(await ended).toMatchObject({ kind: 'completed', exitCode: 0 });
    expect(isLetGo()).toBe(true);
  });
});

describe('in a terminal', () => {
  test('all three streams are it, it has its name and size, and is told of another one', async () => {
    const { send, type, sees, ended } = call({
      ...sh('test -t 0 && test -t 1 && test -t 2 && echo "$TERM" && stty size && read x && stty size'),
      terminal: { rows: 31, columns: 97, name: 'vt220' },
    });
    await sees('31 97');
    send({ kind: 'resize', rows: 50, columns: 132 });
    type('\n');
    const result = await ended;
    expect(linesOf(result)).toBe('vt220\n31 97\n\n50 132\n');
  });

  test('Python asks at a prompt, and is answered', async () => {
    const program = 'import sys; print(sys.stdin.isatty(), "hello", input("name? "))';
    const { type, sees, ended } = call({ ...python(program), terminal: TERMINAL });
    await sees('name? ');
    type('ada\r');
    const result = await ended;
    expect(result).toMatchObject({ kind: 'completed', exitCode: 0 });
    // What is typed is echoed.
    expect(linesOf(result)).toBe('name? ada\nTrue hello ada\n');
  });

  test('output and errors are one stream', async () => {
    const result = await call({ ...sh('echo out; echo err >&2'), terminal: TERMINAL }).ended;
    expect(linesOf(result)).toBe('out\nerr\n');
    expect('stderr' in result && result.stderr).toHaveLength(0);
  });

  test('a shell controls its jobs: keys interrupt and stop what is in the foreground, and the shell goes on', async () => {
    const { type, sees, ended } = call({
      argv: ['bash', '--norc', '--noprofile', '-i'],
      environment: { PS1: 'ready> ' },
      terminal: TERMINAL,
    });
    await sees('ready> ');
    // Quotes, so that what is typed is not what is waited for.
    type("sh -c 'echo go''es; exec sleep 1000'\r");
    await sees('goes\r\n');
    type('\u0003');
    await sees('ready> ');
    type("echo interrupt''ed=$?\r");
    await sees('interrupted=130');
    await sees('ready> ');
    type("sh -c 'echo a''gain; exec sleep 1000'\r");
    await sees('again\r\n');
    type('\u001a');
    await sees('Stopped');
    await sees('ready> ');
    type('exit 7\r');
    // One does not leave what is stopped without being told.
    await sees('There are stopped jobs.');
    await sees('ready> ');
    type('exit 7\r');
    expect(await ended).toMatchObject({ kind: 'completed', exitCode: 7 });
  });

  test('SIGINT goes to whom the key would interrupt', async () => {
    const { type, send, sees, ended } = call({
      argv: ['bash', '--norc', '--noprofile', '-i'],
      environment: { PS1: 'ready> ' },
      terminal: TERMINAL,
    });
    await sees('ready> ');
    type("sh -c 'echo go''es; exec sleep 1000'\r");
    await sees('goes\r\n');
    send({ kind: 'signal', name: 'SIGINT' });
    await sees('ready> ');
    type("echo interrupt''ed=$?\r");
    await sees('interrupted=130');
    await sees('ready> ');
    type('exit\r');
    expect(await ended).toMatchObject({ kind: 'completed', exitCode: 0 });
  });

  test.each([
    ['a whole line', 'abc\r', 'abc\nabc\n'],
    ['half a line', 'abc', 'abcabc'],
    ['nothing', '', ''],
  ])('after %s the end of the input is the key for it', async (_, typed, shown) => {
    const { type, send, ended } = call({ argv: ['cat'], terminal: TERMINAL });
    type(typed);
    send({ kind: 'end' });
    const result = await ended;
    expect(result).toMatchObject({ kind: 'completed', exitCode: 0 });
    expect(linesOf(result)).toBe(shown);
  });

  test('what is held back as the beginning of a credential is shown to who waits for it', async () => {
    const caller = createCaller();
    const tool = place.processRun({}, { redact: createRedactor() });
    const input = { ...sh('printf "type g"; read x; echo "$x"'), terminal: TERMINAL };
    const runs = { runId: 'R', callId: 'C', workspace: place.workspace, timeoutMs: 20_000 };
    const ended = executePlan(tool, await tool.plan(input, runs), caller);
    await caller.sees('type g');
    caller.type('it\r');
    expect(linesOf(await ended)).toBe('type git\nit\n');
  });
});

describe('nobody attached', () => {
  test.each([
    ['pipes', PIPES],
    ['a terminal', { terminal: TERMINAL }],
  ])('%s: there is nothing to read', async (_, how) => {
    const result = await place.call(RUN, { ...sh('cat; echo over'), ...how });
    expect(result).toMatchObject({ kind: 'completed', exitCode: 0 });
    expect(linesOf(result)).toBe('over\n');
    expect(result).not.toHaveProperty('output.attached');
  });
});

test('who is attached to a command that does not ask for it is not asked for anything', async () => {
  const { type, taken, ended } = call(sh('cat; echo over'));
  type('typed');
  expect(linesOf(await ended)).toBe('over\n');
  expect(taken()).toBe(0);
});

test('bound bytes run with somebody attached, too', async () => {
  const caller = createCaller();
  const ended = place.call(RUN, { argv: ['cat'], ...PIPES }, { ...caller, needsBoundBytes: true });
  caller.type('typed');
  caller.send({ kind: 'end' });
  expect(linesOf(await ended)).toBe('typed');
});

describe('in the pipeline', () => {
  let house: (GatewayHouse & { readonly root: string }) | undefined;
  afterEach(async () => {
    await house?.close();
    if (house !== undefined) removeHouse(house.root);
  });

  test('in the box nobody is asked, and that something was typed is on record, but not what', async () => {
    house = await openHouse({ tools: [place.processRun({})] });
    const run = await house.gateway.startRun(house.agent, { workspace: { id: 'work', root: place.workspace } });
    const caller = createCaller();
    const input = JSON.stringify({ ...sh('stty -echo; read x; echo done'), terminal: TERMINAL });
    const ended = run.call({ tool: RUN, input, ...caller });
    caller.type('hunter2\r');
    const { decision, outcome, call_id } = await ended;
    expect(decision).toMatchObject({ kind: 'allow' });
    expect(outcome).toMatchObject({ kind: 'completed', exit_code: 0, output: { attached: { input_bytes: 8 } } });
    const { entries } = await house.journal.query({ call: call_id });
    expect(JSON.stringify(entries)).not.toContain('hunter2');
    expect(await house.verdict()).toBe('sound');
  });
});
