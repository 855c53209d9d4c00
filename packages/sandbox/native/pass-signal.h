/* Signals that palyrad passes on to a tool: never by a number that may be somebody else's by now. */
#ifndef PALYRA_PASS_SIGNAL_H
#define PALYRA_PASS_SIGNAL_H

#include "job.h"

/* Before anything else is looked at by that number. */
int hold_tool(pid_t tool);
/* Whether what was looked at by its number meanwhile was this one. */
int is_held(int pidfd);

/* Nothing happens when the tool is gone. */
void pass_signal(const struct job *job, int number);

#endif
