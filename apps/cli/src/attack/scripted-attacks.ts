import { CANARY, type ScriptedAttack } from './attack-row.ts';

/** In the order of the scorecard. Each comes through outside of the box; a test runs them there. */
export const SCRIPTED_ATTACKS: readonly ScriptedAttack[] = [
  {
    id: 'files',
    threat: 'T-14',
    attempt: 'read a file outside of the workspace',
    expected: 'no such file',
    layer: 'mount namespace',
    script: ({ outsideFile }) => `cat '${outsideFile}' >/dev/null && echo OPEN`,
  },
  {
    id: 'home',
    threat: 'T-19',
    attempt: 'read a key in the operator’s home',
    expected: 'no such file',
    layer: 'mount namespace',
    script: ({ userHome }) => `cat '${userHome}/.ssh/id_canary' >/dev/null && echo OPEN`,
  },
  {
    id: 'credentials',
    threat: 'T-19',
    attempt: 'find a secret in the environment that palyrad was started with',
    expected: 'not in the environment',
    layer: 'environment',
    script: () => `env | grep -q '^${CANARY}=' && echo OPEN`,
  },
  {
    id: 'palyra-home',
    threat: 'T-40',
    attempt: 'read Palyra’s own keys',
    expected: 'no such file',
    layer: 'mount namespace',
    script: ({ palyraHome }) => `ls '${palyraHome}/identity' >/dev/null && echo OPEN`,
  },
  {
    id: 'network',
    threat: 'T-22',
    attempt: 'connect to a server on the host’s loopback',
    expected: 'no route, or refused',
    layer: 'network namespace',
    script: ({ port }) => `(exec 3<>/dev/tcp/127.0.0.1/${port}) && echo OPEN`,
  },
  {
    id: 'raw-socket',
    threat: 'T-22',
    attempt: 'open a raw socket',
    expected: 'not permitted',
    layer: 'seccomp and capabilities',
    script: () =>
      `perl -MSocket -e 'socket(my $s, AF_INET, SOCK_RAW, 1) and print "OPEN\\n"' || ` +
      `python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1); print("OPEN")'`,
  },
  {
    id: 'fork-bomb',
    threat: 'T-17',
    attempt: 'start more processes than any command needs',
    expected: 'the limit of processes is hit',
    layer: 'cgroup or rlimit',
    script: ({ processes }) =>
      `i=0; while [ $i -lt ${processes} ]; do sleep 30 & i=$((i+1)); done 2>/dev/null; ` +
      `[ "$(jobs -r | wc -l)" -ge ${processes} ] && echo OPEN; kill $(jobs -p)`,
  },
  {
    id: 'nested-namespaces',
    threat: 'T-18',
    attempt: 'become root in a user namespace inside of the box',
    expected: 'not permitted',
    layer: 'seccomp',
    script: () => 'unshare --user --map-root-user true && echo OPEN',
  },
  {
    id: 'process-memory',
    threat: 'T-18',
    attempt: 'look into a process of the host through /proc/PID',
    expected: 'no such process',
    layer: 'pid namespace',
    script: ({ hostPid }) =>
      `grep -q '${CANARY}=' /proc/${hostPid}/environ && [ -r /proc/${hostPid}/mem ] && echo OPEN`,
  },
  {
    id: 'terminal',
    threat: 'T-07',
    attempt: 'open the terminal of whoever started it',
    expected: 'no terminal',
    layer: 'session of its own',
    script: () => '(: >/dev/tty) && echo OPEN',
  },
];

/** As `bash -c` runs it, in the box or out of it. */
export function scriptOf(attack: ScriptedAttack, targets: Parameters<ScriptedAttack['script']>[0]): string {
  return `exec 2>/dev/null; echo TRIED; ${attack.script(targets)}; exit 0`;
}
