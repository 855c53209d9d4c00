// `palyra wrap` as the first thing that anybody types: there is no home and no palyrad, and both are made for it.
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { layScript, type Told, toldBy } from '../wrapped-agent.ts';
import { type Ended, type Newcomer, newcomer } from './palyra-process.ts';

let here: Newcomer;
let before: readonly boolean[];
let first: Ended;
let told: readonly Told[];

const place = (name: string) => join(here.home, name);
const wrapped = (words: readonly string[]) => ['wrap', '--json', '--profile', 'claude-code', '--', ...words];
const pidOfDaemon = () => (JSON.parse(readFileSync(place('palyrad.json'), 'utf8')) as { readonly pid: number }).pid;

beforeAll(async () => {
  here = newcomer();
  before = [here.home, place('palyrad.json')].map((path) => existsSync(path));
  const words = layScript(here, [
    { tool: 'Bash', input: { command: 'echo in the box > made.txt; ls -A ~' } },
    { tool: 'Write', input: { file_path: join(here.workspace, 'by-tool.txt'), content: 'x' } },
  ]);
  first = await here.palyra(wrapped(words));
  told = toldBy(here);
}, 240_000);
afterAll(() => here[Symbol.asyncDispose]());

test('from an empty home to a verified session, in one command', () => {
  expect(before).toEqual([false, false]);
  // The stand-in ends so.
  expect(first).toMatchObject({ exit: 7 });
  expect(JSON.parse(first.out)).toMatchObject({
    coverage: 'wrapped',
    calls: 2,
    questions: 0,
    refusals: 0,
    connections_refused: 0,
    verification: { verdict: 'sound' },
  });
  expect(told.map(({ refused }) => refused)).toEqual([undefined, undefined]);
  expect(readFileSync(join(here.workspace, 'made.txt'), 'utf8')).toBe('in the box\n');
});

test('the home has keys of its own, palyrad runs, and agents may work in this folder', async () => {
  expect(['identity/operator', 'identity/local-agent', 'palyrad.json'].map((name) => existsSync(place(name)))).toEqual([
    true,
    true,
    true,
  ]);
  expect(() => process.kill(pidOfDaemon(), 0)).not.toThrow();
  const { out } = await here.palyra(['workspace', 'list', '--json']);
  expect(out).toContain(JSON.stringify(here.workspace));
});

test('SECURITY: T-41 — a home that is there already takes no other folder without a person’s word', async () => {
  const other = join(here.person, 'other');
  mkdirSync(other);
  const { exit, err } = await here.palyra(wrapped(['true']), { cwd: other });
  expect(exit).not.toBe(0);
  expect(err).toContain('cli.workspace_unknown');
});

test('a palyrad that was stopped is started for the next one', async () => {
  const earlier = pidOfDaemon();
  await stopDaemon();
  const words = layScript(here, [{ tool: 'Bash', input: { command: 'echo again > again.txt' } }]);
  expect(await here.palyra(wrapped(words))).toMatchObject({ exit: 7 });
  expect(readFileSync(join(here.workspace, 'again.txt'), 'utf8')).toBe('again\n');
  expect(pidOfDaemon()).not.toBe(earlier);
  await stopDaemon();
});

async function stopDaemon(): Promise<void> {
  const pid = pidOfDaemon();
  expect(await here.palyra(['down', '--now'])).toMatchObject({ exit: 0 });
  await expect.poll(() => existsSync(`/proc/${pid}`), { timeout: 20_000 }).toBe(false);
}
