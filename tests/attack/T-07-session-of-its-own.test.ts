/**
 * T-07: a tool that has the operator's terminal reads what is typed there, draws on it and types into it. The launcher and
 * the stage make sessions too, and the filter refuses to type: here none of them is there, and only the box's own option is.
 */
import { beforeAll, expect, test } from 'vitest';
import { changed, type PlannedBox, planBox, runBox } from './planned-box.ts';
import { describeBothWays, textOf, uniqueMark } from './sandboxed.ts';

const PASSWORD = uniqueMark();
const DRAWN = uniqueMark();
const TYPED = uniqueMark();

/** The operator's shell: has a terminal, runs the box in its foreground, and says then what happened on it. */
const SHELL = `
import fcntl, os, pty, sys, termios
master, slave = pty.openpty()
modes = termios.tcgetattr(slave)
modes[3] &= ~termios.ECHO
termios.tcsetattr(slave, termios.TCSANOW, modes)
os.write(master, b'${PASSWORD}\\n')
if os.fork() == 0:
  os.setsid()
  fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
  if os.fork() == 0:
    os.closerange(master, slave + 1)
    os.execvp(sys.argv[1], sys.argv[1:])
  os.wait()
  def all_of(fd):
    os.set_blocking(fd, False)
    try: return os.read(fd, 4096).decode().strip()
    except BlockingIOError: return 'nothing'
  print('left', all_of(slave).splitlines(), flush=True)
  print('screen', all_of(master), flush=True)
  os._exit(0)
os.close(master)
os.close(slave)
os.wait()
`;

/** Says nothing of what it did to the terminal: the shell sees that. */
const ATTACK = `
import errno, fcntl, os, termios
try:
  terminal = os.open('/dev/tty', os.O_RDWR)
  print('read', os.read(terminal, 4096).decode().strip(), flush=True)
  os.write(terminal, b'${DRAWN}')
  for each in b'${TYPED}\\n': fcntl.ioctl(terminal, termios.TIOCSTI, bytes([each]))
except OSError as error: print(errno.errorcode[error.errno], flush=True)
`;

/** Since Linux 6.2 it may be closed to everybody but root: then nobody types, and reading and drawing are what is left. */
const CAN_BE_TYPED = !textOf('/proc/sys/dev/tty/legacy_tiocsti').startsWith('0');

describeBothWays((place) => {
  let box: PlannedBox;
  beforeAll(async () => {
    box = await planBox(place());
  });

  async function attack(made: PlannedBox): Promise<readonly string[]> {
    const through = ['/usr/bin/python3', '-c', SHELL];
    const { stdout, stderr } = await runBox(place(), made, ['/usr/bin/python3', '-c', ATTACK], { through });
    return `${stdout}${stderr}`.trim().split('\n');
  }

  test('--new-session: the tool has no terminal, and what is typed waits for who it is meant for', async () => {
    expect(await attack(box)).toEqual(['ENXIO', `left ['${PASSWORD}']`, 'screen nothing']);
  });

  test('without it the tool reads the password, draws on the screen and types a command', async () => {
    const said = await attack(changed(box, { without: [['--new-session']] }));
    const typed = CAN_BE_TYPED ? [`left ['${TYPED}']`] : ['EIO', "left ['nothing']"];
    expect(said).toEqual([`read ${PASSWORD}`, ...typed, `screen ${DRAWN}`]);
  });
});
