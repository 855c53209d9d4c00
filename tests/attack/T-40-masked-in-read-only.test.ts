// T-40: a Tier B tool reads what is masked, because it lies in a place that it may read as a whole.
import { chownSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { describeOrdinary, sh, tierB, uniqueMark } from './sandboxed.ts';

describeOrdinary((place) => {
  test('a mask holds in a read-only workspace, and what lies beside it is read', async () => {
    const { workspace, daemon } = place();
    const { uid, gid } = statSync(workspace);
    const keys = join(workspace, 'keys');
    mkdirSync(keys);
    const [secret, plain] = [uniqueMark(), uniqueMark()];
    for (const [name, text] of [
      ['keys/id', secret],
      ['.env', secret],
      ['plain', plain],
    ] as const) {
      writeFileSync(join(workspace, name), text);
      chownSync(join(workspace, name), uid, gid);
    }
    const masked = { maskedPaths: [keys, join(workspace, '.env')] };
    const profile = tierB(place(), { ...masked, workspace: { root: workspace, access: 'read-only' } });
    const { stdout } = await daemon.run(sh('cat plain .env keys/id; echo changed > plain; cat plain'), profile);
    expect(stdout).toBe(plain + plain);
    for (const name of ['keys', '.env', 'plain']) rmSync(join(workspace, name), { recursive: true });
  });
});
