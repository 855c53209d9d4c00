/**
 * T-40, T-19: package managers write tokens into the settings of what they install. The operator's programs are shown to tools, these are
 * not: in Tier C they are masked, in Tier B Landlock hides them.
 */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSandbox, type Sandbox } from '@palyra/sandbox';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sandboxProfile } from '../sandbox-profile.ts';

const TOKEN = 'a token for the registry';
let base: string;
let sandbox: Sandbox;
const at = (path: string) => join(base, path);

beforeAll(async () => {
  base = mkdtempSync('/tmp/palyra-token-');
  for (const each of ['home/.npm-global/bin', 'home/.npm-global/etc', 'home/.palyra', 'work']) {
    mkdirSync(at(each), { recursive: true, mode: 0o755 });
  }
  for (const each of ['', 'home']) chmodSync(at(each), 0o755);
  writeFileSync(
    at('home/.npm-global/bin/tool'),
    '#!/bin/sh\ncat "$(dirname "$0")/../share" "$(dirname "$0")/../etc/npmrc"\n',
    {
      mode: 0o755,
    },
  );
  writeFileSync(at('home/.npm-global/share'), 'shown\n', { mode: 0o644 });
  writeFileSync(at('home/.npm-global/etc/npmrc'), TOKEN, { mode: 0o644 });
  const path = `${at('home/.npm-global/bin')}:/usr/bin:/bin`;
  sandbox = await createSandbox({
    operator: { path, home: at('home'), palyraHome: at('home/.palyra'), environment: {} },
    logger: { error: () => undefined },
    pool: 'off',
  });
});
afterAll(async () => {
  await sandbox.close();
  rmSync(base, { recursive: true });
});

test.each(['B', 'C'] as const)('Tier %s: the program runs, and reads no token', async (tier) => {
  const result = await sandbox.run({ argv: ['tool'] }, sandboxProfile(at('work'), { tier, toolchains: 'operator' }));
  expect('output' in result && Buffer.from(result.output.stdout).toString()).toBe('shown\n');
});
