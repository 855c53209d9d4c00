/** A system call that is asked about and never answered. */
export interface AskedAbout {
  readonly x64: number;
  readonly arm64: number;
  /** Only with this as its first argument. */
  readonly argument?: number;
}

/**
 * Executes what its arguments say under a filter that asks a process whether a call may be made. That one never answers; after so
 * many seconds it ends, so that nobody waits for ever.
 */
export function neverAnswered({ x64, arm64, argument }: AskedAbout, seconds: number): readonly [string, ...string[]] {
  const asked = process.arch === 'arm64' ? arm64 : x64;
  return ['/usr/bin/python3', '-c', PROGRAM, String(seconds), String(asked), String(argument ?? 'any')];
}

const PROGRAM = `
import ctypes, os, struct, sys, time
seconds, asked, argument = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
FILTER = 317 if os.uname().machine == 'x86_64' else 277
LOAD, IS, ANSWER, ASK, ALLOWED = 0x20, 0x15, 0x06, 0x7fc00000, 0x7fff0000
with_argument = [] if argument == 'any' else [(LOAD, 0, 0, 16), (IS, 0, 1, int(argument))]
steps = [(LOAD, 0, 0, 0), (IS, 0, 1 + len(with_argument), asked), *with_argument, (ANSWER, 0, 0, ASK), (ANSWER, 0, 0, ALLOWED)]
program = ctypes.create_string_buffer(b''.join(struct.pack('HBBI', *step) for step in steps))
filter = ctypes.create_string_buffer(struct.pack('HxxxxxxQ', len(steps), ctypes.addressof(program)))
listener, this = ctypes.CDLL(None).syscall(FILTER, 1, 8, filter), os.getpid()
if listener < 4: sys.exit(1)
if os.fork() == 0:
  if os.fork(): os._exit(0)
  os.closerange(0, listener)
  for _ in range(seconds * 10):
    if os.path.exists(f'/proc/{this}'): time.sleep(0.1)
  os._exit(0)
os.wait()
os.execv(sys.argv[4], sys.argv[4:])
`;
