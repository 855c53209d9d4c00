#include "put-away.h"

#include <sys/wait.h>

#include "job-life.h"
#include "job-table.h"

#define AT_LAST_US 5000

/* Once: its number may be anybody's after that, and to wait for -1 would be to wait for whoever comes first. */
static void reap_keeper(struct job *job) {
  if (job->fds.keeper > 0) waitpid(job->fds.keeper, NULL, 0);
  job->fds.keeper = -1;
}

void put_away(struct job *job) {
  reap_keeper(job);
  forget_job(job);
}

void put_told_away(int is_quiet) {
  uint64_t now = now_us();
  for (struct job *job = next_told(NULL); job != NULL; job = next_told(job)) {
    if (is_quiet || now - job->told_us >= AT_LAST_US) put_away(job);
  }
}

/* With fewer than this for each of them, jobs could run out of descriptors before they run out of places. */
#define PER_JOB 16
static int are_descriptors_few;

void hold_for_less_long(int descriptors) { are_descriptors_few = descriptors < MAX_JOBS * PER_JOB; }

/* Who has heard of an end is not refused the next one for what is left of it. Keepers count where processes are limited; they are
 * mostly dead by now, and gone for little. */
static void give_back_what_is_scarce(void) {
  if (are_descriptors_few) put_told_away(1);
  for (struct job *job = next_told(NULL); job != NULL; job = next_told(job)) reap_keeper(job);
}

struct job *place_for_one(void) {
  give_back_what_is_scarce();
  struct job *place = free_place();
  if (place != NULL) return place;
  put_told_away(1);
  return free_place();
}
