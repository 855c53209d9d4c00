/* Giving palyrad the pipes of a tool, for one that says and hears much: what is said then passes through nobody. */
#ifndef PALYRA_HAND_OVER_H
#define PALYRA_HAND_OVER_H

#include "job.h"

/* Where palyrad takes descriptors: the IPC channel that Node opened when it started us. */
#define HANDS 4

/* Whether palyrad opened one. Before anything else is open. */
int has_hands(void);

/* NULL, or why not; then the job is to be refused. Our own ends are closed in either case. */
const char *hand_over(struct job *job, int hands);

#endif
