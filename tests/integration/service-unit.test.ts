import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { servicePrint } from '@palyra/config';
import { expect, test } from 'vitest';

const HAS_SYSTEMD = spawnSync('systemd-analyze', ['--version']).status === 0;

test.runIf(HAS_SYSTEMD)('systemd finds nothing wrong with the unit [needs: systemd-analyze]', () => {
  const directory = mkdtempSync(join(tmpdir(), 'palyra-unit-'));
  try {
    const { text } = servicePrint({
      platform: 'linux',
      paths: { node: process.execPath, program: '/usr/lib/palyra/palyrad.js', state: '/var/lib/palyra' },
      user: { daemon: 'palyra', owner: 'ada' },
    });
    const unit = join(directory, 'palyrad.service');
    writeFileSync(unit, text);
    const verify = (path: string) =>
      spawnSync('systemd-analyze', ['verify', '--man=no', path], {
        encoding: 'utf8',
        env: { PATH: process.env['PATH'] },
      });
    const { status, stderr } = verify(unit);
    expect([status, stderr.split('\n').filter((line) => line.includes('palyrad.service'))]).toEqual([0, []]);
    // It would say so.
    writeFileSync(unit, text.replace('KillMode=mixed', 'KillMode=sometimes'));
    expect(verify(unit).stderr).toContain('kill mode');
  } finally {
    rmSync(directory, { recursive: true });
  }
});
