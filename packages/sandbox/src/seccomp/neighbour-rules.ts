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

const ANY_OTHER = { argument: 0, mask: ALL_BITS, is: 'none_of', values: [0] } as const;

// SECURITY: T-40 — with the operator's uid these cripple palyrad or another job without a signal, which Landlock would see.
const LIMITS_OF_OTHERS: readonly CallRule[] = [
  {
    calls: ['prlimit64', 'sched_setscheduler', 'sched_setparam', 'sched_setattr', 'sched_setaffinity'],
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
