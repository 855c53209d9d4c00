// T-07: a tool types into the terminal of whoever started it (TIOCSTI, TIOCLINUX), or gets hold of that terminal at all.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Daemon, startDaemon } from './sandbox-daemon.ts';
import { describeBothWays, type Place, python, tierB, tierC } from './sandboxed.ts';

/** Becomes a daemon that has a terminal of its own, as one has that was started by hand; both ends of it stay open. */
const WITH_TERMINAL = `
import fcntl, os, pty, sys, termios
if os.getpid() == os.getpgrp() and os.fork(): os.wait(); sys.exit()
master, slave = pty.openpty()
os.setsid()
fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
os.set_inheritable(master, True)
os.set_inheritable(slave, True)
os.execvp(sys.argv[1], sys.argv[1:])
`;

/** Prints what every attempt came to: a name and what was done or why not. */
const ATTACK = `
import errno, fcntl, os
TIOCSTI, TIOCLINUX = 0x5412, 0x541c
def is_open(fd):
  try: return os.fstat(fd) is not None
  except OSError: return False
others = [fd for fd in range(3, 1024) if is_open(fd)]
def attempt(name, act):
  try: act(); print(name, 'done')
  except OSError as error: print(name, errno.errorcode[error.errno])
def type_into(fd):
  fcntl.ioctl(fd, TIOCSTI, b'x')
attempt('open', lambda: os.close(os.open('/dev/tty', os.O_RDWR)))
for fd in (0, 1, 2):
  attempt(f'type {fd}', lambda: type_into(fd))
  attempt(f'paste {fd}', lambda: fcntl.ioctl(fd, TIOCLINUX, b'\\x03'))
attempt('named', lambda: type_into(os.open('THE-TERMINAL', os.O_RDWR)))
print('terminal', open('/proc/self/stat').read().rpartition(')')[2].split()[4])
print('others', others)
`;

/** Field 7 of /proc/PID/stat. */
function terminalOf(pid: number): string {
  return readFileSync(`/proc/${pid}/stat`, 'utf8').split(')').at(-1)?.trim().split(' ')[4] ?? '';
}

describeBothWays((place) => {
  let daemon: Daemon;
  let name: string;

  beforeAll(async () => {
    daemon = await startDaemon(place(), { through: ['python3', '-c', WITH_TERMINAL] });
    name = `/dev/pts/${Number(terminalOf(daemon.pid)) & 0xff}`;
  });
  afterAll(() => daemon.close());

  async function attack(
    profile: (place: Place) => ReturnType<typeof tierC>,
    terminal?: { rows: number; columns: number },
  ) {
    const command = python(ATTACK.replace('THE-TERMINAL', name));
    const { stdout } = await daemon.run(
      { ...command, ...(terminal === undefined ? {} : { terminal }) },
      profile(place()),
    );
    return stdout.replaceAll('\r', '').trim().split('\n');
  }

  test('the daemon of these tests has a terminal that could be typed into', () => {
    expect(terminalOf(daemon.pid)).not.toBe('0');
  });

  test('in Tier C without a terminal there is none to be had', async () => {
    expect(await attack(tierC)).toEqual([
      'open ENXIO',
      ...[0, 1, 2].flatMap((fd) => [`type ${fd} EPERM`, `paste ${fd} EPERM`]),
      'named ENOENT',
      'terminal 0',
      'others []',
    ]);
  });

  test('in Tier C with a terminal it is the tool’s own, and nothing can be typed into it', async () => {
    const answers = await attack(tierC, { rows: 24, columns: 80 });
    expect(answers.slice(0, 7)).toEqual([
      'open done',
      ...[0, 1, 2].flatMap((fd) => [`type ${fd} EPERM`, `paste ${fd} EPERM`]),
    ]);
    expect(answers[7]).toMatch(/^named (?:ENOENT|EPERM)$/);
    expect(answers[8]).not.toBe(`terminal ${terminalOf(daemon.pid)}`);
    expect(answers[9]).toBe('others []');
  });

  test('in Tier B without a terminal there is none to be had, also by name', async () => {
    const answers = await attack(tierB);
    expect(answers[0]).toBe('open ENXIO');
    expect(answers.filter((answer) => answer.endsWith(' done'))).toEqual([]);
    expect(answers.slice(-2)).toEqual(['terminal 0', 'others []']);
  });

  test('in Tier B with a terminal it is the tool’s own, and the daemon’s cannot be typed into', async () => {
    const answers = await attack(tierB, { rows: 24, columns: 80 });
    expect(answers[0]).toBe('open done');
    expect(answers).not.toContain('named done');
    expect(answers.at(-2)).not.toBe(`terminal ${terminalOf(daemon.pid)}`);
    expect(answers.at(-1)).toBe('others []');
  });
});
