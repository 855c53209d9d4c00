/* The one way out of a sandbox: a listening socket on its own loopback, opened inside and used outside. */
#ifndef PALYRA_LISTENER_H
#define PALYRA_LISTENER_H

#include <stddef.h>

#include "wire.h"

/* In the sandbox, before the tool: a descriptor, or -1 with errno. */
int open_listener(void);

/* Outside: `127.0.0.1:3128 net:[4026532001]`, as the kernel says it of this socket; 0 when it is something else. */
size_t describe_listener(int fd, char *into, size_t room);

#endif
