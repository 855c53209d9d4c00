/** How a call is refused: the process ends, or the call returns the error and does nothing. */
export type SeccompRefusal = 'kill_process' | SeccompErrno;

export type SeccompErrno = 'EPERM' | 'ENOSYS' | 'EAFNOSUPPORT';

/** Numbers of errors, the same on both architectures. */
const ERRNO_NUMBERS: Readonly<Record<SeccompErrno, number>> = { EPERM: 1, ENOSYS: 38, EAFNOSUPPORT: 97 };

const RET_KILL_PROCESS = 0x8000_0000;
const RET_ERRNO = 0x0005_0000;

/** SECCOMP_RET_… as a program returns it. */
export const RET_ALLOW = 0x7fff_0000;

export function refusalValue(refusal: SeccompRefusal): number {
  return refusal === 'kill_process' ? RET_KILL_PROCESS : RET_ERRNO + ERRNO_NUMBERS[refusal];
}
