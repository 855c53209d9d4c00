/* All jobs that there are. */
#ifndef PALYRA_JOB_TABLE_H
#define PALYRA_JOB_TABLE_H

#include "job.h"

#define MAX_JOBS 256

/* Fewer than MAX_JOBS, where there are not descriptors for so many. */
void take_places(int most);
/* The first one after NULL, NULL after the last one. The one that it is asked with may be free by then. */
struct job *next_job(struct job *job);
/* In the same way, of those whose end was told. */
struct job *next_told(struct job *job);
struct job *find_job(uint32_t id);
/* For one more, which is in it as soon as it has a phase; NULL when there are too many. */
struct job *free_place(void);
/* In a copy of us that others may look into. */
void wipe_jobs(void);

#endif
