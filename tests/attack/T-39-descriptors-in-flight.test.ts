/**
 * T-39, T-17: a tool leaves as many descriptors as it may in sockets that nobody reads. The kernel counts them for its user, and whoever
 * has that user may hand over none meanwhile: every other box would fail to start, for as long as the tool likes to run.
 */
import { expect, test } from 'vitest';
import { describeBothWays, python, sh, tierC, until } from './sandboxed.ts';

const LEAVE = `
import array, errno, os, socket, time
nothing, pairs = os.open('/dev/null', os.O_RDONLY), []
message = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [nothing] * 250))]
try:
  while True:
    pairs.append(socket.socketpair())
    for _ in range(3): pairs[-1][0].sendmsg([b'x'], message)
except OSError as error: print(errno.errorcode[error.errno], flush=True)
time.sleep(1000)
`;

describeBothWays((place) => {
  test('another box starts all the same, with what it hands over', async () => {
    const { daemon } = place();
    const hostile = daemon.start(python(LEAVE), tierC(place()));
    await until('no more can be left', () => hostile.text().endsWith('\n'));
    const { kind, detail, stdout } = await daemon.run(sh('echo fine'), tierC(place()));
    // Only who handed over a descriptor of its /tmp is seen to have filled it.
    const full = await daemon.run(
      sh('head -c 8M /dev/zero > /tmp/full'),
      tierC(place(), { limits: { tmpfsBytes: 4 * 1024 * 1024 } }),
    );
    hostile.cancel();
    await hostile.ended;

    expect(hostile.text()).toBe('ETOOMANYREFS\n');
    expect({ kind, detail, stdout }).toEqual({ kind: 'completed', detail: '0', stdout: 'fine\n' });
    expect([full.kind, full.detail]).toEqual(['quota_exceeded', 'disk']);
  });
});
