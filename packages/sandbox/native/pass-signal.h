/* Signals that palyrad passes on to a tool: never by a number that may be somebody else's by now. */
#ifndef PALYRA_PASS_SIGNAL_H
#define PALYRA_PASS_SIGNAL_H

#include "job.h"

/* Nothing happens when the tool is gone. */
void pass_signal(const struct job *job, int number);

#endif
