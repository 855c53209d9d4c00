/* Handing a descriptor to a Node process over its IPC channel. */
#ifndef PALYRA_PASS_HANDLE_H
#define PALYRA_PASS_HANDLE_H

#include <stddef.h>

/* A message of Node's protocol, with its newline, and the descriptor that goes with it. Does not wait. 0, or -1. */
int pass_handle(int channel, const char *line, size_t length, int handle);

/* What Node says there is of no interest: it acknowledges handles. Closes the channel when nobody is there any more. */
void hear_handles(int *channel);

#endif
