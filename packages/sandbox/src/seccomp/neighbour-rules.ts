import { ALL_BITS, type CallRule } from './call-rule.ts';

/** What a Tier B tool shares with every process of its user, because no namespace is between them. */

export const AF_UNIX: number = 1;

// SECURITY: T-40 — Landlock does not know connecting: the operator's bus, agents and tmux would do what they are asked.
export const NO_UNIX_SOCKETS: CallRule = {
  calls: ['socket'],
  when: [{ argument: 0, mask: ALL_BITS, is: 'one_of', values: [AF_UNIX] }],
  action: 'EAFNOSUPPORT',
  why: 'reaches named sockets of the operator',
};

const [SOCK_STREAM, SOCK_SEQPACKET] = [1, 5];
/** SOCK_TYPE_MASK; above it are SOCK_CLOEXEC and SOCK_NONBLOCK. */
export const SOCKET_TYPE: number = 0xf;

// SECURITY: T-19, T-40 — half of a datagram pair (SOCK_RAW is one too) may still connect or send to any named socket; a stream
// or seqpacket pair is connected for good.
export const NO_CONNECTABLE_PAIR: CallRule = {
  calls: ['socketpair'],
  when: [{ argument: 1, mask: SOCKET_TYPE, is: 'none_of', values: [SOCK_STREAM, SOCK_SEQPACKET] }],
  action: 'EPERM',
  why: 'a pair of datagram sockets reaches named sockets',
};

const ANY_OTHER = { argument: 0, mask: ALL_BITS, is: 'none_of', values: [0] } as const;
const PRIO_USER = 2;

// SECURITY: T-40 — with the operator's uid these cripple palyrad or another job without a signal, which Landlock would see.
const LIMITS_OF_OTHERS: readonly CallRule[] = [
  {
    calls: ['prlimit64', 'sched_setscheduler', 'sched_setparam', 'sched_setaffinity'],
    when: [ANY_OTHER],
    action: 'EPERM',
    why: 'sets limits or priorities of other processes',
  },
  {
    calls: ['setpriority', 'ioprio_set'],
    when: [{ ...ANY_OTHER, argument: 1 }],
    action: 'EPERM',
    why: 'sets priorities of other processes',
  },
  // Names nobody, and means everybody with the uid. (`ioprio_set` then means those of root, which the kernel refuses.)
  {
    calls: ['setpriority'],
    when: [{ argument: 0, mask: ALL_BITS, is: 'one_of', values: [PRIO_USER] }],
    action: 'EPERM',
    why: 'sets priorities of all processes of a user',
  },
];

// SECURITY: T-40 — memory, queues and semaphores of every process with the uid, which Landlock does not know; and what is made of
// them outlives the tool. In Tier C they are the box's own.
const SYSTEM_V: CallRule = {
  calls: 'shmget shmat shmctl msgget msgsnd msgrcv msgctl semget semop semtimedop semctl'.split(' '),
  when: [],
  action: 'EPERM',
  why: 'reaches memory and queues of other processes, and leaves its own behind',
};

export const NEIGHBOURS: readonly CallRule[] = [...LIMITS_OF_OTHERS, SYSTEM_V];
