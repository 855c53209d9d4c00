/* The last step of a job: by itself, by its time, or because its keeper is gone. */
#ifndef PALYRA_JOB_END_H
#define PALYRA_JOB_END_H

#include "job.h"

void hear_keeper(struct job *job);

/* What a keeper left that was killed: once more, where there is such a job. */
void await_strays(struct job *job);
/* For all of them; 0 when there is nobody left. */
int end_strays(void);

/* Ends one that has had its time. */
void watch(struct job *job, uint64_t now);
/* Whether everybody is dead and nothing of what they said is left; then it is told, and what is empty can be put away. */
int has_ended(struct job *job);
void tell_end(struct job *job);

#endif
