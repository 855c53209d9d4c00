import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { plainPaint } from '../render/paint.ts';
import { createAgentScreen, OWN_SCREEN } from './agent-screen.ts';
import { changedFiles } from './changed-files.ts';
import { chooseAgent } from './choose-agent.ts';
import { renderSummary, type Session, type SessionSummary, summarise } from './session-summary.ts';

let place = '';
beforeEach(() => {
  place = realpathSync(mkdtempSync(join(tmpdir(), 'wrap-')));
});
afterEach(() => rmSync(place, { recursive: true }));

describe('which agent it is', () => {
  const choose = (argv: readonly string[], profile?: string) =>
    chooseAgent(argv, { profile, variables: { PATH: `${place}/bin:relative` }, cwd: place });

  test('is said by its program, which is found where it really is', () => {
    mkdirSync(join(place, 'bin'));
    writeFileSync(join(place, 'real.js'), '');
    chmodSync(join(place, 'real.js'), 0o755);
    symlinkSync(join(place, 'real.js'), join(place, 'bin/codex'));
    expect(choose(['codex', '-x'])).toEqual({ profile: 'codex', title: 'Codex', argv: [join(place, 'real.js'), '-x'] });
    expect(choose(['./real.js'])).toMatchObject({ profile: 'generic' });
    expect(choose(['./real.js'], 'claude-code')).toMatchObject({ profile: 'claude-code' });
  });

  test('and one that there is not is our error', () => {
    expect(() => choose(['codex'])).toThrow(expect.objectContaining({ code: 'cli.not_found' }));
    expect(() => choose(['sh'], 'vscode')).toThrow(expect.objectContaining({ code: 'cli.invalid_option' }));
  });
});

test('files that were changed since are found by the kernel’s clock, whatever their own time says', () => {
  mkdirSync(join(place, 'deep/node_modules'), { recursive: true });
  writeFileSync(join(place, 'deep/new.txt'), '');
  utimesSync(join(place, 'deep/new.txt'), 1, 1);
  writeFileSync(join(place, 'deep/node_modules/left-out.js'), '');
  expect(changedFiles(place, 0)).toEqual({ count: 1, paths: ['deep/new.txt'], isWhole: true });
  expect(changedFiles(place, Date.now() + 60_000)).toEqual({ count: 0, paths: [], isWhole: true });
});

test('a program that draws has its screen cleared around a question, what another one wrote is pushed up first', () => {
  const screen = createAgentScreen();
  expect(screen.begin(3)).toContain('\u001B[3;1H\r\n\r\n\r\n');
  screen.saw(Buffer.from('text \u001B[?10'));
  screen.saw(Buffer.from('49h drawing'));
  expect(screen.begin(3)).not.toContain('\r\n');
  screen.saw(Buffer.from('\u001B[?1049l'));
  expect(screen.end()).toBe('\r\n');
});

test('what is told of the session stands below what the agent has written: nothing moves the cursor for good', () => {
  const [before = '', kept = '', ...more] = OWN_SCREEN.split('\u001B7').flatMap((part) => part.split('\u001B8'));
  const after = more.join('');
  // Both put it into the first line, on every terminal.
  for (const moving of ['\u001B[?6l', '\u001B[r']) {
    expect(kept).toContain(moving);
    expect(before + after).not.toContain(moving);
  }
  // These may come back with the cursor.
  for (const undone of ['\u001B[?7h', '\u000F', '\u001B(B', '\u001B[0m']) expect(after).toContain(undone);
});

test('questions about connections, which no call’s page has, are counted where they were heard of', async () => {
  const calls = [
    { call_id: 'wrap', outcome: 'completed' },
    { call_id: 'one', outcome: 'refused' },
    { call_id: 'two', outcome: 'completed' },
  ];
  const connections = [
    { host: 'reached.example', port: 443, outcome: 'allowed' },
    { host: 'kept.example', port: 443, outcome: 'denied', connections: 3 },
  ];
  const runs = {
    get: async () => ({ run: { session_id: 's', workspace_root: place }, calls }),
    getCall: async (id: string) => ({
      result: id === 'two' ? { outcome: { output: { connections } } } : { approval: {}, outcome: {} },
    }),
  };
  const told = (asked: number) => ({
    run: 'run',
    agent: { profile: 'codex' },
    result: { call_id: 'wrap' },
    startedAt: 0,
    asked,
    reached: { client: { runs } },
    context: {},
  });
  const summaryOf = (asked: number) => summarise(told(asked) as unknown as Session);
  expect(await summaryOf(3)).toMatchObject({ calls: 2, questions: 3, refusals: 1, connections_refused: 1 });
  // Nobody listened: those of the calls at least.
  expect(await summaryOf(0)).toMatchObject({ calls: 2, questions: 2, refusals: 1 });
});

test('a session is told in a few lines, with nothing of an agent’s that could move the cursor', () => {
  const summary = {
    run_id: '01M7KGBXPZ3M0ENA7VGK51AWNV',
    calls: 200,
    questions: 1,
    refusals: 0,
    connections_refused: 0,
    changed_files: { count: 9, paths: ['a\u001B[2J', ...'bcdefghi'.split('')], isWhole: true },
    verification: { verdict: 'sound', entries: 1204 },
    undo: 'palyra undo 01M7KGBXPZ3M0ENA7VGK51AWNV',
  } as unknown as SessionSummary;
  const text = renderSummary(summary, plainPaint);
  expect(text).toContain('200 calls, 1 question, 0 refusals\n');
  expect(renderSummary({ ...summary, connections_refused: 1 }, plainPaint)).toContain(
    '0 refusals, 1 connection refused\n',
  );
  expect(text).toContain('… 1 more');
  expect(text).toContain('verified, 1204 entries');
  expect(text).toContain('palyra undo 51AWNV');
  expect(text).not.toContain('\u001B');
  expect(renderSummary({ ...summary, calls: 0 }, plainPaint)).not.toContain('undo');
  const broken = { ...summary, verification: { verdict: 'broken', why: 'cut off' } } as SessionSummary;
  expect(renderSummary(broken, plainPaint)).toContain('BROKEN: cut off');
});
