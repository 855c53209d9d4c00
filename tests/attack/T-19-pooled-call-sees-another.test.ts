// T-19: a sandbox that was started ahead brings something along: of the command before it, or of the one that it waited with.
import { expect, test } from 'vitest';
import { describeBothWays, sh, tierC, uniqueMark } from './sandboxed.ts';
import { warmDaemon } from './warm-daemon.ts';

/** Everything in which something could stay. */
const LEAVE = `
for place in /tmp "$HOME" /dev/shm; do echo "$SECRET" > "$place/left"; done
(setsid sh -c 'exec -a left sleep 60' >/dev/null 2>&1 &)
`;
const LOOK = `
ls -A "$HOME" /dev/shm; find /tmp -type f; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n'; env
`;
const DESCRIPTORS = 'cd /proc/self/fd; for each in *; do test -e $each && echo $each; done; readlink 0';

describeBothWays((place) => {
  test('nothing of one command is seen by the next, though both find one waiting', async () => {
    const profile = tierC(place(), { environment: ['SECRET'] });
    await using daemon = await warmDaemon(place(), profile);
    for (let run = 0; run < 3; run += 1) {
      await daemon.warmed();
      const secret = uniqueMark();
      const left = await daemon.run({ ...sh(LEAVE), environment: { SECRET: secret } }, profile);
      expect(left.outcome).toMatchObject({ kind: 'completed', exitCode: 0, pooled: true });
      const { outcome, stdout } = await daemon.run(sh(LOOK), profile);
      expect(outcome).toMatchObject({ kind: 'completed', pooled: true });
      expect(stdout).toContain('HOME=');
      expect(stdout).not.toMatch(/left|SECRET/);
      expect(stdout).not.toContain(secret);
    }
  });

  test('it has its three descriptors, and without input none to read from', async () => {
    const profile = tierC(place());
    await using daemon = await warmDaemon(place(), profile);
    const { outcome, stdout } = await daemon.run(sh(DESCRIPTORS), profile);
    expect({ outcome, stdout }).toMatchObject({ outcome: { pooled: true }, stdout: '0\n1\n2\n/dev/null\n' });
  });
});
