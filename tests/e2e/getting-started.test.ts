import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PAGE = readFileSync(join(ROOT, 'docs/getting-started.md'), 'utf8');

interface Block {
  readonly kind: 'plain' | 'set-up' | 'first-terminal' | 'second-terminal';
  readonly script: string;
}

const BLOCKS: readonly Block[] = [...PAGE.matchAll(/^```sh ?([a-z-]*)\n(.*?)^```$/gms)].map(
  ([, kind = '', script = '']) => ({
    kind: (kind === '' ? 'plain' : kind) as Block['kind'],
    script,
  }),
);

const person = mkdtempSync(join(tmpdir(), 'palyra-reader-'));
chmodSync(person, 0o755);
const workspace = join(person, 'project');
mkdirSync(workspace);
mkdirSync(join(person, 'bin'));
// Where `npm i -g` or npx would put it.
const launcher = `#!/bin/sh\nexec '${process.execPath}' --conditions=palyra-source '${join(ROOT, 'apps/cli/src/main.ts')}' "$@"\n`;
writeFileSync(join(person, 'bin', 'palyra'), launcher, { mode: 0o755 });

const env = {
  PATH: `${join(person, 'bin')}:${process.env['PATH']}`,
  HOME: person,
  NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
};

function run(script: string): Promise<{ readonly exit: number | null; readonly said: string }> {
  const child = spawn('sh', ['-e', '-c', script], { cwd: workspace, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const said: Buffer[] = [];
  child.stdout.on('data', (bytes: Buffer) => said.push(bytes));
  child.stderr.on('data', (bytes: Buffer) => said.push(bytes));
  return new Promise((resolve) => {
    child.once('close', (exit) => resolve({ exit, said: Buffer.concat(said).toString() }));
  });
}

afterAll(async () => {
  await run('palyra down --now');
  rmSync(person, { recursive: true, force: true });
});

test('the page of a newcomer is true, block by block', async () => {
  expect(BLOCKS.length).toBeGreaterThan(5);
  let first: ReturnType<typeof run> | undefined;
  let endedEarly: Awaited<ReturnType<typeof run>> | undefined;
  const told: string[] = [];
  for (const { kind, script } of BLOCKS) {
    // The set-up was done for this very test, and the demo has one of its own.
    if (kind === 'set-up') continue;
    if (kind === 'first-terminal') {
      first = run(script);
      void first.then((early) => {
        endedEarly = early;
      });
      continue;
    }
    // A person types the second command when the first one waits; a program tries until it does.
    let ended = await run(script);
    while (kind === 'second-terminal' && !ended.said.includes('Approved.')) {
      if (endedEarly !== undefined) throw new Error(`It did not wait: ${JSON.stringify(endedEarly)}`);
      await sleep(100);
      ended = await run(script);
    }
    told.push(ended.said);
    expect({ script, ...ended }).toMatchObject({ script, exit: 0 });
  }
  expect(await first).toMatchObject({ exit: 0, said: 'Linux\n' });
  const all = told.join('');
  expect(all).toContain('hello.txt');
  expect(all).toContain('the box holds');
  expect(all).toContain('Approved.');
  expect(all).toContain('palyrad has ended.');
}, 240_000);
