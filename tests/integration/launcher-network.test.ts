import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { encodeRequest } from '../../packages/sandbox/src/launcher/encode-request.ts';
import { FROM_LAUNCHER, TO_LAUNCHER } from '../../packages/sandbox/src/launcher/wire.ts';
import { inBubblewrap, isRoot, launcherProgram, shell, until } from './launched-job.ts';
import { startRawLauncher } from './raw-launcher.ts';

const hasNoChildren = (pid: number): boolean => readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8') === '';

/** Executes what its arguments say under a filter, as containers and services have them: it may make namespaces and enter none. */
const WITHOUT_SETNS = `
import ctypes, os, struct, sys
ENTER = 308 if os.uname().machine == 'x86_64' else 268
LOAD, IS, ANSWER, EPERM, ALLOWED = 0x20, 0x15, 0x06, 0x50001, 0x7fff0000
steps = [(LOAD, 0, 0, 0), (IS, 0, 1, ENTER), (ANSWER, 0, 0, EPERM), (ANSWER, 0, 0, ALLOWED)]
program = ctypes.create_string_buffer(b''.join(struct.pack('HBBI', *step) for step in steps))
filter = ctypes.create_string_buffer(struct.pack('HxxxxxxQ', len(steps), ctypes.addressof(program)))
if ctypes.CDLL(None).prctl(22, 2, filter, 0, 0) != 0: sys.exit(1)
os.execv(sys.argv[1], sys.argv[1:])
`;

test.skipIf(!isRoot)(
  'where no network may be entered none is made, and the launcher goes on [needs: root]',
  async () => {
    await using launcher = await startRawLauncher(['/usr/bin/python3', '-c', WITHOUT_SETNS, launcherProgram()]);
    const box = shell('exit 7', inBubblewrap('--unshare-user --unshare-pid --unshare-net'));
    for (const job of [1, 2, 3]) {
      launcher.send(TO_LAUNCHER.start, job, encodeRequest(box, { stdin: false }));
      await launcher.frame((frame) => frame.job === job && frame.kind === FROM_LAUNCHER.facts);
      launcher.send(TO_LAUNCHER.go, job);
      const { kind } = await launcher.frame((frame) => frame.job === job && frame.kind !== FROM_LAUNCHER.facts);
      expect(kind).toBe(FROM_LAUNCHER.ended);
      // Nobody has wanted anything for long by then.
      await until(() => launcher.process.exitCode !== null || hasNoChildren(launcher.pid));
      expect(launcher.process.exitCode).toBe(null);
    }
  },
);
