import { existsSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Ended, type Newcomer, newcomer } from './palyra-process.ts';

let here: Newcomer;
let first: Ended;
beforeAll(async () => {
  here = newcomer();
  // The very first command of a newcomer: everything is made by it.
  first = await here.palyra(['exec', '--', 'true']);
});
afterAll(() => here[Symbol.asyncDispose]());

/** Waits without a limit of its own: the machine may be busy. */
const PATIENT = { timeout: 40_000 };

describe('palyra exec', () => {
  test('has made a home, an authority and a palyrad that listens', () => {
    expect(first).toMatchObject({ exit: 0, out: '' });
    expect(existsSync(join(here.home, 'palyra.toml'))).toBe(true);
    expect(existsSync(join(here.home, 'palyrad.json'))).toBe(true);
  });

  test.each([
    ['its exit code', 'exit 7', { exit: 7, out: '', err: '' }],
    ['output and errors, apart', 'echo out; echo err >&2', { exit: 0, out: 'out\n', err: 'err\n' }],
    ['a signal that ended it', 'kill -KILL $$', { exit: 137 }],
  ])('passes on %s', async (_what, script, expected) => {
    expect(await here.palyra(['exec', '--', 'sh', '-c', script])).toMatchObject(expected);
  });

  test('passes on what it reads, as bytes', async () => {
    const input = `${'x'.repeat(300_000)}\u0000ende`;
    const { exit, out } = await here.palyra(['exec', '--', 'cat'], { input });
    expect({ exit, isSame: out === input }).toEqual({ exit: 0, isSame: true });
  });

  test('passes on signals', async () => {
    const script = 'trap "echo caught; exit 5" TERM; echo ready; while :; do sleep 0.1; done';
    const { child, ended } = here.start(['exec', '--', 'sh', '-c', script]);
    await new Promise((resolve) => child.stdout?.once('data', resolve));
    child.kill('SIGTERM');
    expect(await ended).toMatchObject({ exit: 5, out: 'ready\ncaught\n' });
  });

  test('ends what it runs when nobody reads its output any more, as a closed pipe does', async () => {
    const { child, ended } = here.start(['exec', '--', 'sh', '-c', 'for i in $(seq 99); do echo more; sleep .1; done']);
    await new Promise((resolve) => child.stdout?.once('data', resolve));
    child.stdout?.destroy();
    expect(await ended).toMatchObject({ exit: 141, err: '' });
    expect((await here.palyra(['log'])).out).toMatch(/cancelled +\d+ m?s +palyra\.process\.run +sh -c 'for i in/);
  });

  test('runs where it was called, and sees nothing else', async () => {
    const { out } = await here.palyra(['exec', '--', 'sh', '-c', 'pwd; ls -A; ls ../.palyra 2>&1 | head -1']);
    const [place, ...rest] = out.trimEnd().split('\n');
    expect(place).toBe(here.workspace);
    expect(rest.join()).toMatch(/No such file|cannot access/);
  });

  test('is one JSON document with --json, output inside', async () => {
    const { exit, out, err } = await here.palyra(['exec', '--json', '--', 'sh', '-c', 'echo hi; exit 3']);
    expect({ exit, err }).toEqual({ exit: 3, err: '' });
    expect(JSON.parse(out)).toMatchObject({
      tool: 'palyra.process.run',
      decision: { kind: 'allow', policy_ids: ['in-the-box'] },
      outcome: { exit_code: 3, stdout: 'hi\n' },
      attestation: { executor: 'sandbox_tier_c_linux_bubblewrap', sandbox_enforcement: 'strict', coverage: 'direct' },
    });
  });

  test('needs no operator: it never opens that credential', async () => {
    const kept = join(here.person, 'kept');
    const operator = join(here.home, 'identity', 'operator');
    renameSync(operator, kept);
    try {
      expect(await here.palyra(['exec', '--', 'echo', 'ok'])).toMatchObject({ exit: 0, out: 'ok\n' });
    } finally {
      renameSync(kept, operator);
    }
  });

  test('in a folder that is no workspace says so, and how to make it one', async () => {
    const { exit, err } = await here.palyra(['exec', '--', 'true'], { cwd: '/var/tmp' });
    expect(exit).toBe(246);
    expect(err).toContain('error[cli.workspace_unknown]');
    expect(err).toContain('palyra workspace add /var/tmp');
  });

  test('without a command, or with an unknown option, exits as our own errors do there', async () => {
    expect(await here.palyra(['exec'])).toMatchObject({ exit: 242 });
    expect(await here.palyra(['exec', '--sandbx', 'x', '--', 'true'])).toMatchObject({ exit: 242 });
  });

  test('a program that is not there is our refusal, not its exit', async () => {
    const { exit, err } = await here.palyra(['exec', '--', 'no-such-program']);
    expect({ exit, code: /error\[([^\]]+)\]/.exec(err)?.[1] }).toEqual({
      exit: 248,
      code: 'sandbox.executable_not_found',
    });
  });
});

describe('a question', () => {
  const LEAVE = ['exec', '--sandbox', 'limits', '--', 'echo', 'outside'];

  test('waits for a human, who approves it', async () => {
    const { ended } = here.start(LEAVE);
    const { approval_id: id } = await here.question();
    expect(await here.palyra(['approve', id, '--yes'])).toMatchObject({ exit: 0, out: 'Approved.\n' });
    expect(await ended).toMatchObject({ exit: 0, out: 'outside\n' });
    expect((await here.palyra(['log'])).out).toMatch(/ask, approved by user:\S+ +completed +\d+ ms .*echo outside\n/);
  }, 60_000);

  test('or refuses, with a reason that the caller is told', async () => {
    const { ended } = here.start(LEAVE);
    const { approval_id: id } = await here.question();
    await here.palyra(['deny', id, '--reason', 'Not today.']);
    const { exit, err } = await ended;
    expect(exit).toBe(249);
    expect(err).toContain('Not today.');
  }, 60_000);

  test('is not approved without a person who has seen it', async () => {
    const { ended, child } = here.start(LEAVE);
    const { approval_id: id } = await here.question();
    expect(await here.palyra(['approve', id])).toMatchObject({ exit: 9 });
    child.kill('SIGINT');
    expect(await ended).toMatchObject({ exit: 249 });
    await vi.waitFor(async () => expect((await here.palyra(['inbox'])).out).toBe('No question is open.\n'), PATIENT);
  }, 60_000);
});

describe('in a terminal', () => {
  test('it has one of its own, of the same size, and ends with a receipt', async () => {
    const { out, exit } = await here.inTerminal([
      'exec',
      '--',
      'sh',
      '-c',
      'stty size; test -t 0 && test -t 1 && echo yes',
    ]);
    expect(exit).toBe(0);
    expect(out).toContain('24 80');
    expect(out).toContain('yes');
    expect(out).toMatch(/palyra · in the box · .* · no connections · receipt [0-9A-Z]{6}/);
  });

  test('its receipt stands on a line of its own', async () => {
    const { out } = await here.inTerminal(['exec', '--', 'printf', 'no end']);
    expect(out).toMatch(/no end\r?\n\S*palyra · /);
  });

  test('who fails there by the box is told what was in the way', async () => {
    const { out, exit } = await here.inTerminal(['exec', '--', 'sh', '-c', 'touch /usr/bin/mine']);
    expect(exit).toBe(1);
    expect(out).toMatch(/hint:.* Write into the workspace/);
  });
});

describe('what happened', () => {
  test('is told by log, and explained call by call', async () => {
    await here.palyra(['exec', '--', 'echo', 'for the record']);
    const { out } = await here.palyra(['log', '--json']);
    const { runs } = JSON.parse(out) as { runs: { calls: { call_id: string; summary: string }[] }[] };
    const call = runs.at(-1)?.calls.at(-1);
    expect(call?.summary).toContain('for the record');
    const why = await here.palyra(['why', call?.call_id.slice(-6) ?? '']);
    expect(why.out).toContain('in-the-box');
    expect(why.out).toContain('sandbox_tier_c_linux_bubblewrap');
  });

  test('what the file tools changed is put back by undo', async () => {
    await here.palyra(['tool', 'call', 'palyra.fs.write', '--input', '{"path":"new.md","content":"x"}']);
    expect(readFileSync(join(here.workspace, 'new.md'), 'utf8')).toBe('x');
    expect(await here.palyra(['undo'])).toMatchObject({ exit: 0 });
    expect(existsSync(join(here.workspace, 'new.md'))).toBe(false);
  });

  test('a module that the operator adds is called, keeps its key, and runs out of fuel', async () => {
    const counter = fileURLToPath(new URL('../../examples/wasm/wat/counter.wasm', import.meta.url));
    expect(await here.palyra(['module', 'add', 'counter', counter, '--grant', 'kv'])).toMatchObject({ exit: 0 });
    const call = (input: object) =>
      here.palyra(['tool', 'call', 'palyra.wasm.run', '--json', '--input', JSON.stringify(input)]);
    expect(await call({ module: 'counter' })).toMatchObject({ exit: 0 });
    const again = await call({ module: 'counter' });
    expect(JSON.parse(again.out)).toMatchObject({
      outcome: { kind: 'completed', output: { output: 2 } },
      attestation: { executor: 'sandbox_tier_a_wasm', sandbox_enforcement: 'strict' },
    });
    const spent = await call({ module: 'counter', fuel: 5 });
    expect(JSON.parse(spent.out)).toMatchObject({ outcome: { kind: 'quota_exceeded', code: 'wasm.fuel_exhausted' } });
    expect(spent.exit).not.toBe(0);
    expect(await here.palyra(['module', 'remove', 'counter'])).toMatchObject({ exit: 0 });
  });

  test('and verifies offline, after palyrad was told to end', async () => {
    const away = newcomer();
    try {
      await away.palyra(['exec', '--', 'true']);
      expect(await away.palyra(['down'])).toMatchObject({ exit: 0, out: 'palyrad has ended.\n' });
      expect(existsSync(join(away.home, 'palyrad.json'))).toBe(false);
      expect(await away.palyra(['verify'])).toMatchObject({ exit: 0 });
      expect(await away.palyra(['status'])).toMatchObject({ exit: 4 });
      // And the next command starts it again.
      expect(await away.palyra(['exec', '--', 'echo', 'again'])).toMatchObject({ exit: 0, out: 'again\n' });
    } finally {
      await away[Symbol.asyncDispose]();
    }
  }, 120_000);
});

test('palyra demo goes as told', async () => {
  const { exit, out } = await here.palyra(['demo']);
  expect(out).toContain('Everything went as told.');
  expect(exit).toBe(0);
}, 120_000);
