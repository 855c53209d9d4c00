/* Ending and forgetting a job. */
#ifndef PALYRA_JOB_LIFE_H
#define PALYRA_JOB_LIFE_H

#include "job.h"

uint64_t now_us(void);
void close_fd(int *fd);
/* Wall and idle time begin. */
void start_clock(struct job *job);
/* Everybody, or as many as can be found at once: the rest is the keeper's, or ours where that is gone. */
void kill_all(const struct job *job);
void end_job(struct job *job, enum reason reason);
/* It has not run and never will, and says why: the word for it was none, or what it would run in is not what was asked for. */
void refuse_job(struct job *job, const char *why);
/* Nothing of it is ours any more, and its place is free; of its cgroups, whoever removes them knows. */
void forget_job(struct job *job);

#endif
