#include "job-table.h"

#include <stddef.h>
#include <string.h>

static struct job jobs[MAX_JOBS];
static int most_jobs = MAX_JOBS;
static int taken; /* places; from here on all are free */

void take_places(int most) {
  if (most < most_jobs) most_jobs = most;
}

static struct job *next_taken(struct job *job) {
  int at = job == NULL ? 0 : (int)(job - jobs) + 1;
  while (at < taken && jobs[at].phase == JOB_FREE) at += 1;
  return at < taken ? &jobs[at] : NULL;
}

struct job *next_job(struct job *job) {
  do job = next_taken(job);
  while (job != NULL && job->phase == JOB_TOLD);
  return job;
}

struct job *next_told(struct job *job) {
  do job = next_taken(job);
  while (job != NULL && job->phase != JOB_TOLD);
  return job;
}

struct job *find_job(uint32_t id) {
  for (struct job *job = next_job(NULL); job != NULL; job = next_job(job)) {
    if (job->id == id) return job;
  }
  return NULL;
}

struct job *free_place(void) {
  int at = 0;
  while (taken > 0 && jobs[taken - 1].phase == JOB_FREE) taken -= 1;
  while (at < taken && jobs[at].phase != JOB_FREE) at += 1;
  if (at >= most_jobs) return NULL;
  if (at == taken) taken += 1;
  return &jobs[at];
}

void wipe_jobs(void) {
  for (struct job *job = next_taken(NULL); job != NULL; job = next_taken(job)) {
    struct buffer *const of_others[] = {&job->input, &job->said, &job->outside};
    for (size_t at = 0; at < sizeof of_others / sizeof of_others[0]; at += 1) {
      if (of_others[at]->bytes != NULL) explicit_bzero(of_others[at]->bytes, of_others[at]->room);
    }
  }
}
