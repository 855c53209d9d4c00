#include "put-away.h"

#include <sys/wait.h>

#include "job-life.h"
#include "job-table.h"

#define AT_LAST_US 5000

void put_away(struct job *job) {
  waitpid(job->fds.keeper, NULL, 0);
  forget_job(job);
}

void put_told_away(int is_quiet) {
  uint64_t now = now_us();
  for (struct job *job = next_told(NULL); job != NULL; job = next_told(job)) {
    if (is_quiet || now - job->told_us >= AT_LAST_US) put_away(job);
  }
}

struct job *place_for_one(void) {
  struct job *place = free_place();
  if (place != NULL) return place;
  put_told_away(1);
  return free_place();
}
