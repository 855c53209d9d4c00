/**
 * T-20: a layer is missing or does not do what it says, and the tool runs all the same. Every time the answer must be a
 * refusal, and nothing of the tool may have run.
 */
import { chmodSync, existsSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { WIRE_VERSION } from '../../packages/sandbox/src/launcher/wire.ts';
import type { Pretence } from './programs/pretended-sandbox.ts';
import { type Ended, launcherIn, startDaemon } from './sandbox-daemon.ts';
import { describeBothWays, describeOrdinary, IS_ROOT, type Place, sh, tierB, tierC } from './sandboxed.ts';

/**
 * What a bubblewrap of an attacker, of another version or with a fault may do to its arguments, those that it is to read from a
 * descriptor among them; the root that it is told to take was put together by the launcher, at /sys.
 */
const UNFAITHFUL: readonly (readonly [string, string])[] = [
  ['ignores the filter', "drop('--seccomp', 1)"],
  ['shares the ipc namespace', "drop('--unshare-ipc', 0)"],
  ['shares the pid namespace', "drop('--unshare-pid', 0); drop('--disable-userns', 0)"],
  ['shares the uts namespace', "drop('--unshare-uts', 0); drop('--hostname', 1)"],
  ['shares the cgroup namespace', "drop('--unshare-cgroup', 0)"],
  ['keeps capabilities', "drop('--cap-drop', 1); add('--cap-add', 'ALL')"],
  ['makes everything writable', "args[:] = ['--bind' if each == '--ro-bind' else each for each in args]"],
  ['takes another root, which is writable', 'own_root()'],
  ['takes the host for the root', "args[args.index('/sys')] = '/'"],
  ['leaves /dev writable', "add('--dev', '/dev')"],
  ['shows more than it should', "add('--ro-bind', '/var', '/home')"],
  ['shows the real /tmp', "add('--bind', '/tmp', '/tmp')"],
  ['leaves out a mask', "drop_bind('/proc/sys')"],
  ['makes a tmpfs without a size', "add('--tmpfs', '/dev/shm')"],
  ['is told no options', "args[:] = args[args.index('/proc/self/fd/5'):]"],
  ['is no sandbox at all', "os.execv('/proc/self/fd/5', ['/proc/self/fd/5', 'stage'])"],
];

const WRAPPER = (change: string) => `#!/usr/bin/python3
import os, sys
args = sys.argv[1:]
if args[0] == '--args':
  with os.fdopen(int(args[1]), 'rb') as options: args[0:2] = options.read().decode().split('\\0')[:-1]
def drop(name, values):
  while name in args:
    at = args.index(name)
    del args[at:at + 1 + values]
def add(*more): args[args.index('/proc/self/fd/5'):args.index('/proc/self/fd/5')] = more
def own_root():
  at = args.index('--dev-bind')
  args[at:at + 3] = [word for name in os.listdir('/sys') for word in ('--dev-bind', '/sys/' + name, '/' + name)]
def drop_bind(target):
  for at in reversed(range(len(args) - 2)):
    if args[at] == '--ro-bind' and args[at + 2] == target: del args[at:at + 3]
${change}
os.execv('/usr/bin/bwrap', ['bwrap', *args])
`;

function write(path: string, text: string): string {
  writeFileSync(path, text);
  chmodSync(path, 0o755);
  return path;
}

/** Starts the real launcher and passes its hello on as one of another version; then it says nothing more. */
const STRANGER = (launcher: string) => `#!/usr/bin/python3
import os, socket
control = socket.socket(fileno=os.dup(3))
ours, theirs = socket.socketpair()
if os.fork() == 0:
  os.dup2(theirs.fileno(), 3)
  os.execv('${launcher}', ['${launcher}'])
theirs.close()
control.sendall(ours.recv(4096).replace(b'version=${WIRE_VERSION}\\n', b'version=${WIRE_VERSION + 1}\\n'))
control.recv(1)
`;

async function runOn(place: Place, pretence: Pretence, profile = tierC(place)): Promise<Ended> {
  const daemon = await startDaemon(place, { pretence });
  try {
    return await daemon.run(sh('touch ran; echo ran'), profile);
  } finally {
    await daemon.close();
  }
}

/** Removes what it must not find, or the next test would find it too. */
function somethingRan({ workspace }: Place): boolean {
  const file = join(workspace, 'ran');
  const isThere = existsSync(file);
  rmSync(file, { force: true });
  return isThere;
}

describeBothWays((place) => {
  test('without bubblewrap Tier C is refused, and Tier B does not take its place', async () => {
    const ended = await runOn(place(), { bubblewrap: null });
    expect([ended.kind, ended.detail]).toEqual(['refused', 'sandbox.unsupported']);
    expect(somethingRan(place())).toBe(false);
  });

  test('no bubblewrap that is unfaithful gets a tool to run, and the faithful one does', async () => {
    // Not the user namespace: without privileges bubblewrap makes one even if it is not told to.
    const bubblewrap = join(place().base, 'unfaithful-bwrap');
    const daemon = await startDaemon(place(), { pretence: { bubblewrap } });
    const answers: (readonly string[])[] = [];
    for (const [what, change] of UNFAITHFUL) {
      write(bubblewrap, WRAPPER(change));
      const ended = await daemon.run(sh('touch ran; echo ran'), tierC(place()));
      answers.push([what, ended.kind, ended.detail, ended.stdout]);
    }
    const ran = somethingRan(place());
    write(bubblewrap, WRAPPER(''));
    const faithful = await daemon.run(sh('echo ran'), tierC(place()));
    await daemon.close();
    expect([faithful.kind, faithful.stdout]).toEqual(['completed', 'ran\n']);
    const refused = (what: string) => [what, 'refused', 'sandbox.enforcement_failed', ''];
    // Some are refused by bubblewrap itself, as when it may not keep capabilities.
    const failed = (what: string) => [what, 'failed_to_start', 'sandbox.start_failed', ''];
    const expected = UNFAITHFUL.map(([what], at) =>
      answers[at]?.[1] === 'failed_to_start' ? failed(what) : refused(what),
    );
    expect(answers).toEqual(expected);
    expect(ran).toBe(false);
  });

  test('a bubblewrap that shares the network shares none of the host’s', async () => {
    // What the launcher has made for a sandbox it is in already; where there is none yet, it is refused.
    const bubblewrap = join(place().base, 'sharing-bwrap');
    write(bubblewrap, WRAPPER("drop('--unshare-net', 0)"));
    const daemon = await startDaemon(place(), { pretence: { bubblewrap } });
    const own = readlinkSync('/proc/self/ns/net');
    for (let run = 0; run < 5; run += 1) {
      const { kind, detail, stdout } = await daemon.run(sh('readlink /proc/self/ns/net'), tierC(place()));
      const isOfItsOwn = IS_ROOT && kind === 'completed' && /^net:\[\d+\]\n$/.test(stdout) && stdout.trim() !== own;
      const isRefused = kind === 'refused' && detail === 'sandbox.enforcement_failed' && stdout === '';
      expect([kind, detail, stdout, isOfItsOwn || isRefused]).toEqual([kind, detail, stdout, true]);
    }
    await daemon.close();
  });

  test('a list of options that ends anywhere but at its end gets no tool to run', async () => {
    // As when the process that writes it is killed on the way: by words, and in the midst of the last one.
    const bubblewrap = join(place().base, 'told-in-part-bwrap');
    const daemon = await startDaemon(place(), { pretence: { bubblewrap } });
    const runWith = async (change: string) => {
      write(bubblewrap, WRAPPER(`end = args.index('/proc/self/fd/5')\n${change}`));
      return await daemon.run(sh('touch ran; echo ran'), tierC(place()));
    };
    const whole = await runWith("print('options', end, file=sys.stderr)");
    const count = Number(/^options (\d+)$/m.exec(whole.stderr)?.[1]);
    expect([whole.kind, somethingRan(place()), count > 20]).toEqual(['completed', true, true]);
    // From the end, because there is one more where bubblewrap is to make the network.
    const cuts = Array.from({ length: count }, (_, cut) => `del args[max(0, end - ${cut + 1}):end]`);
    for (const change of [...cuts, 'args[end - 1] = args[end - 1][:-1]', "args[end - 1] = '/proc'"]) {
      const { kind, stdout } = await runWith(change);
      expect([change, stdout, somethingRan(place())]).toEqual([change, '', false]);
      expect(['refused', 'failed_to_start']).toContain(kind);
    }
    await daemon.close();
  });

  test('a bubblewrap that ends, that hangs, or that is not there is a failure', async () => {
    const bubblewrap = join(place().base, 'other-bwrap');
    const daemon = await startDaemon(place(), { pretence: { bubblewrap } });
    const command = sh('touch ran');
    for (const [text, kind] of [
      ['#!/bin/sh\nexit 0\n', 'failed_to_start'],
      ['#!/bin/sh\necho nonsense >&3\nexit 0\n', 'failed_to_start'],
      ['#!/bin/sh\nexec sleep 100\n', 'failed_to_start'],
      ['#!/nowhere\n', 'failed_to_start'],
    ] as const) {
      write(bubblewrap, text);
      const ended = await daemon.run(command, tierC(place(), { limits: { wallMs: 300 } }));
      expect([text, ended.kind]).toEqual([text, kind]);
    }
    await daemon.close();
    expect(somethingRan(place())).toBe(false);
  });

  test('without a cgroup each limit that must hold is refused', async () => {
    const daemon = await startDaemon(place(), { pretence: { cgroups: 'none' } });
    for (const limit of ['memory', 'processes', 'cpu'] as const) {
      const ended = await daemon.run(sh('touch ran'), tierC(place(), { mustHold: [limit] }));
      expect([limit, ended.kind, ended.detail]).toEqual([limit, 'refused', 'sandbox.unsupported']);
    }
    await daemon.close();
    expect(somethingRan(place())).toBe(false);
  });

  test('a profile that promises what the tier cannot do is refused', async () => {
    const { daemon } = place();
    const strictB = await daemon.run(sh('touch ran'), tierB(place(), { egress: { mode: 'strict', hosts: [] } }));
    expect([strictB.kind, strictB.detail]).toEqual(['refused', 'sandbox.unsupported']);
    const hosts = await daemon.run(
      sh('touch ran'),
      tierC(place(), { egress: { mode: 'preflight', hosts: ['a.example'] } }),
    );
    expect([hosts.kind, hosts.detail]).toEqual(['refused', 'sandbox.unsupported']);
    expect(somethingRan(place())).toBe(false);
  });

  test('without a launcher, or with another one, there is no sandbox', async () => {
    const { base } = place();
    const stranger = write(join(base, 'stranger'), STRANGER(launcherIn(place().checkout)));
    const silent = write(join(base, 'silent'), '#!/bin/sh\nexit 0\n');
    for (const [launcherProgram, code] of [
      [join(base, 'nowhere'), 'sandbox.launcher_missing'],
      [stranger, 'sandbox.launcher_failed'],
      [silent, 'sandbox.launcher_failed'],
    ] as const) {
      await expect(startDaemon(place(), { launcherProgram })).rejects.toThrow(code);
    }
  });
});

describeOrdinary((place) => {
  test.each([0, 5])(
    'with Landlock %i an agent’s Tier B tool that has the operator’s uid is refused',
    async (landlockVersion) => {
      const ended = await runOn(place(), { landlockVersion }, tierB(place()));
      expect([ended.kind, ended.detail]).toEqual(['refused', 'sandbox.unsupported']);
      expect(somethingRan(place())).toBe(false);
    },
  );
});
