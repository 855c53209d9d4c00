/* What the kernel says of a process by a descriptor of it, and so of nobody who has its number by now. */
#ifndef PALYRA_PIDFD_INFO_H
#define PALYRA_PIDFD_INFO_H

#include <sys/types.h>

/* -1, or a descriptor of whoever has this number. */
int hold_process(pid_t pid);
/* Whether what was looked at by its number meanwhile was this one. */
int is_held(int pidfd);
int signal_held(int pidfd, int number, unsigned int flags);

/* How it ended, as `wait` has it: of Linux 6.15; 0 on others, and of who has not ended. */
int status_of_held(int pidfd, int *status);

#endif
