/** T-24: somebody looks over the shoulder, or at a recording of the screen, while a PIN or a join URL is typed. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';

const BIN = fileURLToPath(new URL('../../apps/cli/bin/palyra.mjs', import.meta.url));
/** A real terminal, which shows what is typed unless it is told not to. */
const IN_A_TERMINAL = 'import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)';

let home = '';
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'palyra-screen-'));
});
afterEach(() => rmSync(home, { recursive: true }));

interface Typed {
  /** Waited for on the screen… */
  readonly question: string;
  /** …before this is typed. */
  readonly answer: string;
}

/** All that was on the screen. Nobody listens at the address, so each run ends by itself. */
async function screenOf(args: readonly string[], typed: readonly Typed[]): Promise<string> {
  const argv = ['-c', IN_A_TERMINAL, process.execPath, BIN, 'device', 'join', ...args];
  const child = spawn('python3', argv, {
    env: { ...process.env, PALYRA_HOME: home, NO_COLOR: '1', TERM: 'xterm' },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const waiting = [...typed];
  let screen = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    screen += chunk;
    if (waiting[0] !== undefined && screen.includes(waiting[0].question))
      child.stdin.write(`${waiting.shift()?.answer}\r`);
  });
  await once(child, 'close');
  return screen;
}

test('a PIN is not on the screen', async () => {
  const screen = await screenOf(['127.0.0.1:1'], [{ question: 'PIN: ', answer: '1234 5678' }]);
  expect(screen).toContain('error[pairing.unreachable]');
  expect(screen).not.toMatch(/1234|5678/);
});

test('of a join URL the address is, and the secret is not', async () => {
  const url = `palyra://127.0.0.1:1/join/01M7JRK3ZE3Z6MB6JMZP6X1RJ6?ca=${'A'.repeat(43)}#${'s3cr3t'.padEnd(22, 'B')}`;
  const screen = await screenOf([], [{ question: 'Join URL or HOST:PORT: ', answer: url }]);
  expect(screen).toContain('error[pairing.unreachable]');
  expect(screen).toContain('palyra://127.0.0.1:1/join/');
  expect(screen).not.toContain('s3cr3t');
});
