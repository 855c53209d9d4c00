/* What is told of a job that is over: how it ended, what it used, which of its limits were hit. */
#ifndef PALYRA_END_REPORT_H
#define PALYRA_END_REPORT_H

#include "job.h"

void append_end(struct buffer *ended, const struct job *job, uint64_t ran_us);

#endif
