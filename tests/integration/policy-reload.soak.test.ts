import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  compilePolicies,
  createActivePolicies,
  EVERYTHING_LISTED,
  loadPolicies,
  type PolicyFile,
} from '@palyra/policy';
import { systemClock } from '@palyra/primitives';
import { createCaptureLogger } from '@palyra/testkit';
import { expect, test } from 'vitest';

/** `npm run soak` reloads a thousand times, `npm test` a tenth of it. */
const RELOADS = process.env['PALYRA_SOAK'] === '1' ? 1000 : 25;
const MEBIBYTE = 1024 * 1024;

function policies(reload: number): string {
  return Array.from({ length: 100 }, (_, number) => {
    const host = `h${reload}-${number}.example:443`;
    return `@id("op-${number}") forbid (principal, action in Palyra::Action::"execute", resource) when { context.enforced.hosts.contains("${host}") };`;
  }).join('\n');
}

/** Memory that WebAssembly took is never given back, so what counts is that it stops growing. */
async function expectNoGrowth(reloads: number, reload: (number: number) => Promise<void>): Promise<void> {
  const warm = Math.ceil(reloads / 5);
  for (let number = 0; number < warm; number++) await reload(number);
  const before = process.memoryUsage();
  for (let number = warm; number < reloads; number++) await reload(number);
  const after = process.memoryUsage();
  expect({
    wasm: (after.external - before.external) / MEBIBYTE < 8,
    resident: (after.rss - before.rss) / MEBIBYTE < 64,
  }).toEqual({ wasm: true, resident: true });
}

test(`${RELOADS} sets of 100 policies that are put to work one after the other leave no memory behind`, async () => {
  await expectNoGrowth(RELOADS, async (number) => {
    const file: PolicyFile = { name: 'policies/a.cedar', text: policies(number), origin: { kind: 'operator' } };
    const loaded = await loadPolicies(compilePolicies({ preset: 'coding', files: [file] }));
    loaded.close();
  });
});

test(`${RELOADS / 5} edits that are applied, each on a thread of its own, leave no memory behind`, async () => {
  const parent = mkdtempSync(join(tmpdir(), 'palyra-reload-'));
  const directory = join(parent, 'policies');
  mkdirSync(directory, { mode: 0o700 });
  const active = await createActivePolicies({
    directory,
    preset: 'coding',
    config: EVERYTHING_LISTED,
    clock: systemClock,
    logger: createCaptureLogger().logger,
    recordChange: () => undefined,
  });
  try {
    await expectNoGrowth(RELOADS / 5, async (number) => {
      writeFileSync(join(directory, 'a.cedar'), policies(number), { mode: 0o600 });
      await active.apply();
    });
  } finally {
    await active.close();
    rmSync(parent, { recursive: true });
  }
});
