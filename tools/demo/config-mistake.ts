import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { holds, type Stage } from './stage.ts';

const CLI = fileURLToPath(new URL('../../apps/cli/bin/palyra.mjs', import.meta.url));

/** The real command line, on a file with a typing error. */
export function showConfigMistake({ home, say }: Stage): void {
  const file = join(home, 'palyra.toml');
  writeFileSync(file, '[storage]\nlock_timout_ms = 2000\n', { mode: 0o600 });
  const { status, stderr } = spawnSync(process.execPath, [CLI, 'config', 'check', file], { encoding: 'utf8' });
  say(`$ palyra config check ${file}`);
  for (const line of stderr.trimEnd().split('\n')) say(line);
  say(`exit ${status}`);
  holds(status === 2 && stderr.includes('lock_timeout_ms'), 'the nearest known key is named');
}
