/* An empty network of its own takes the kernel a tenth of the time in which a sandbox is made. Where we may make one ourselves, it is
 * made while nobody waits, for one sandbox, which then needs to make none. A process of its own makes it, for it may have to wait for
 * a lock that any tool can keep busy by asking for its own interfaces. */
#ifndef PALYRA_NETWORK_H
#define PALYRA_NETWORK_H

#include <sys/types.h>

/* The network that is there, and is nobody else's from now on; -1 without one. Where one was asked for there will be another. */
int take_network(void);
/* Whether one was asked for and none is there, or being made. */
int wants_network(void);
/* Begins it. Nothing is made where that is not allowed. */
void make_network(void);
/* Where it is heard of; -1 while none is being made. */
int network_socket(void);
void hear_network(void);
/* Whether this is who makes one: no job of anybody's. */
int is_maker(pid_t pid);

#endif
