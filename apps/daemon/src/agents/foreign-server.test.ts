import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createForeignServers } from './foreign-server.ts';

let project = '';
beforeEach(() => {
  project = mkdtempSync(join(tmpdir(), 'foreign-'));
});
afterEach(() => rmSync(project, { recursive: true }));

const asked = () =>
  createForeignServers({ userHome: join(project, 'nobody') }).hasOurName({
    client: 'claude-code',
    program: '/opt/palyra',
    cwd: project,
    root: project,
  });

test('settings of a project are read, and what is no file of a plausible size may say anything', async () => {
  const place = join(project, '.mcp.json');
  expect(await asked()).toBe(false);
  writeFileSync(place, '{"mcpServers":{"other":{"command":"other"}}}');
  expect(await asked()).toBe(false);
  writeFileSync(place, '{"mcpServers":{"palyra":{"command":"other"}}}');
  expect(await asked()).toBe(true);
  writeFileSync(place, '{}');
  // Sparse, and as long as no settings are.
  truncateSync(place, 2 ** 30);
  expect(await asked()).toBe(true);
});

// T-39: four of them would be all threads that palyrad reads files with.
test('nobody waits for whoever writes into a pipe in their place', async () => {
  const place = join(project, '.mcp.json');
  execFileSync('mkfifo', [place]);
  const answer = await Promise.race([asked(), delay(3000, 'waits')]);
  // Whoever does wait is let go.
  closeSync(openSync(place, constants.O_RDWR | constants.O_NONBLOCK));
  expect(answer).toBe(true);
});
