/* A gate is a job that gets the listeners of others: a Node program outside of every sandbox, and the launcher's end of its
 * IPC channel. */
#ifndef PALYRA_GATE_H
#define PALYRA_GATE_H

#include "job.h"

/* NULL, or why it does not get it. `gate` may be anything, or nothing. */
const char *pass_listener(struct job *gate, int listener, const char *label);

#endif
