#include "crowd.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>

#include "kill-tree.h"
#include "pidfd-info.h"
#include "texts.h"

/* So many for each processor that whoever is woken may wait long for its turn. */
#define CROWD 32

static int is_crowded(void) {
  char load[128];
  int running;
  cpu_set_t ours;
  if (read_text("/proc/loadavg", load, sizeof load) <= 0) return 0;
  const int processors = sched_getaffinity(0, sizeof ours, &ours) == 0 ? CPU_COUNT(&ours) : 1;
  return sscanf(load, "%*s %*s %*s %d/", &running) == 1 && running > CROWD * processors;
}

int how_to_end(const struct job *job) {
  /* SECURITY: T-40 — before the word it has no crowd, and nobody has compared whose init that is that was read of it. */
  if (job->phase < JOB_STARTING || !is_crowded()) return SIGTERM;
  if (!job->is_wrapped) return END_CROWD;
  /* SECURITY: T-16 — one call, and the kernel lets nobody fork in there and kills all of them, before any of them has died. To go
   * through them would be more work than there is time for in a turn of ours, and the next one is far. */
  return signal_held(job->init_pidfd, SIGKILL, 0) == 0 ? END_CROWD : SIGTERM;
}
