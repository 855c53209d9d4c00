// T-18: a tool in the box gets privileges back: capabilities, namespaces, other processes, the kernel's wilder calls.
import { chmodSync, chownSync, copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { compile, describeBothWays, IS_ROOT, python, sh, tierB, tierC } from './sandboxed.ts';

const EITHER = {
  EPERM: `ptrace process_vm_readv process_vm_writev kcmp pidfd_getfd unshare_user unshare_high_bits setns clone_mounts
    clone_high_bits personality_read_implies_exec personality_high_bits mount umount2 pivot_root chroot open_tree
    open_tree_attr fsopen mount_setattr keyctl add_key bpf perf_event_open io_uring_setup userfaultfd fanotify_init
    memfd_secret name_to_handle_at open_by_handle_at init_module kexec_load reboot syslog settimeofday sethostname tiocsti
    tiocsti_high_bits tioclinux tiocsetd socket_inet_raw socket_inet_raw_high_bits socket_inet_packet openat_create_suid
    openat_create_high_bits openat_tmpfile_sgid fchmod_suid fchmodat_suid fchmodat_sgid fchmodat_high_bits fchmodat2_suid
    mknodat_suid setlease setlease_high_bits`,
  ENOSYS: 'clone3 number_unreviewed number_in_gap openat2',
  EAFNOSUPPORT: `socket_netlink_audit socket_netlink_high_bits socket_packet socket_packet_high_bits socket_vsock socket_alg
    socketpair_inet`,
  OK: `clone_plain personality_query tiocgwinsz socket_inet_stream socket_inet_dgram socket_inet6_stream socket_netlink_route
    socketpair_stream socketpair_seqpacket openat_create openat_mode_without_create fchmod fchmodat mkdirat thread vfork
    memfd_create landlock_create_ruleset seccomp getlease getfl`,
  none: 'set_id_files_left',
};
const ON_X86_64 = {
  EPERM: 'open_create_suid creat_suid chmod_suid mknod_suid',
  ENOSYS: 'x32',
  SIGSYS: 'other_architecture',
  OK: 'chmod',
};
const UNIX_SOCKETS = {
  refused: {
    EAFNOSUPPORT: 'socket_unix socket_unix_high_bits',
    EPERM: 'socketpair_dgram socketpair_raw socketpair_dgram_connect',
  },
  allowed: {
    OK: 'socket_unix socket_unix_high_bits socketpair_dgram socketpair_raw',
    // It may connect, and there is nothing to connect to.
    ENOENT: 'socketpair_dgram_connect',
  },
};

type Answers = Readonly<Record<string, string>>;

function linesOf(...tables: readonly Answers[]): readonly string[] {
  const answers = tables.flatMap((table) => Object.entries(table));
  return answers.flatMap(([answer, names]) => names.split(/\s+/).map((name) => `${name} ${answer}`)).toSorted();
}

describeBothWays((place) => {
  test.each(['refused', 'allowed'] as const)('every call has its answer, with Unix sockets %s', async (unixSockets) => {
    compile(place(), 'syscall-probe');
    const { stdout } = await place().daemon.run({ argv: ['./syscall-probe'] }, tierC(place(), { unixSockets }));
    const here = process.arch === 'x64' ? ON_X86_64 : {};
    expect(stdout.trim().split('\n').toSorted()).toEqual(linesOf(EITHER, here, UNIX_SOCKETS[unixSockets]));
  });

  test('no capability is in any set, the filter is on, and no program gives privileges', async () => {
    const { stdout } = await place().daemon.run(
      sh("grep -E '^(Cap|NoNew|Seccomp:)' /proc/self/status"),
      tierC(place()),
    );
    const none = '0'.repeat(16);
    expect(stdout.trim().split(/\s+/).join(' ')).toBe(
      `CapInh: ${none} CapPrm: ${none} CapEff: ${none} CapBnd: ${none} CapAmb: ${none} NoNewPrivs: 1 Seccomp: 2`,
    );
  });

  test('in Tier B too no capability is held, and no program gives privileges', async () => {
    const held = "grep -E '^(Cap(Inh|Prm|Eff|Amb)|NoNew)' /proc/self/status";
    const { stdout } = await place().daemon.run(sh(held), tierB(place()));
    const none = '0'.repeat(16);
    expect(stdout.trim().split(/\s+/).join(' ')).toBe(
      `CapInh: ${none} CapPrm: ${none} CapEff: ${none} CapAmb: ${none} NoNewPrivs: 1`,
    );
  });

  test('programs that make namespaces and mounts fail', async () => {
    const attempts = [
      'unshare --user --map-root-user true',
      'unshare --mount true',
      'unshare --user --net true',
      'nsenter --target 1 --mount true',
      'bwrap --unshare-user --bind / / true',
      'mount -t tmpfs none /tmp',
      'mount --bind /etc /tmp',
      'mount -o remount,rw /usr',
      'umount /proc/sys',
      'chroot / true',
    ];
    const said = attempts.map((attempt) => `${attempt} 2>/dev/null && echo "done: ${attempt}"`).join('; ');
    const { stdout } = await place().daemon.run(sh(`${said}; echo end`), tierC(place()));
    expect(stdout).toBe('end\n');
  });

  test('of all processes only its own are to be seen, and pid 1 can neither be traced nor tells anything', async () => {
    const { stdout } = await place().daemon.run(
      python(`
import ctypes, os
pids = sorted(int(name) for name in os.listdir('/proc') if name.isdigit())
print(pids == [1, os.getpid()])
print(ctypes.CDLL(None).ptrace(16, 1, 0, 0), ctypes.CDLL(None).ptrace(0x4206, 1, 0, 0))
try: print(open('/proc/1/environ').read() == '')
except PermissionError: print(True)
`),
      tierC(place()),
    );
    expect(stdout).toBe('True\n-1 -1\nTrue\n');
  });

  test('settings of the kernel cannot be written, and the magic keys are not there', async () => {
    const { stdout } = await place().daemon.run(
      python(`
import os
targets = [os.path.join(at, name) for at, _, names in os.walk('/proc/sys') for name in names]
targets += ['/proc/self/loginuid', '/proc/irq/default_smp_affinity', '/proc/timer_list']
opened = []
for target in targets:
  try: os.close(os.open(target, os.O_WRONLY)); opened.append(target)
  except OSError: pass
print(len(targets) > 100, [each for each in opened if not each.startswith('/proc/self/')])
try: print(os.write(os.open('/proc/sysrq-trigger', os.O_WRONLY), b'h') and os.major(os.stat('/proc/sysrq-trigger').st_rdev))
except OSError: print(1)
`),
      tierC(place()),
    );
    // /dev/null is of the memory devices, whose number is 1.
    expect(stdout).toBe('True []\n1\n');
  });

  test.runIf(IS_ROOT)('a setuid program of root gains nothing, in either tier [needs: root]', async () => {
    const program = join(place().workspace, 'id-of-root');
    copyFileSync('/usr/bin/id', program);
    chownSync(program, 0, 0);
    chmodSync(program, 0o4755);
    const whoAmI = sh('test "$(./id-of-root -u)" = "$(id -u)" && echo nobody special');
    for (const profile of [tierC(place()), tierB(place())]) {
      const { stdout } = await place().daemon.run(whoAmI, profile);
      expect(stdout).toBe('nobody special\n');
    }
  });
});
