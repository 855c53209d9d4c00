#include "job-life.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "crowd.h"
#include "job-cgroups.h"

uint64_t now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

void close_fd(int *fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

void start_clock(struct job *job) {
  job->started_us = now_us();
  job->wall_deadline_us = job->wall_us == 0 ? 0 : job->started_us + job->wall_us;
  job->idle_deadline_us = job->idle_us == 0 ? 0 : job->started_us + job->idle_us;
}

void kill_all(const struct job *job) {
  stop_forking(job);
  kill_in_cgroups(job);
  const int how = how_to_end(job);
  /* SECURITY: T-40 — of none it is -1, and that would be everybody. */
  if (!job->is_orphaned && job->fds.keeper > 0) kill(job->fds.keeper, how);
}

void end_job(struct job *job, enum reason reason) {
  if (job->is_killed || job->has_report) return;
  job->is_killed = 1;
  if (job->reason == REASON_NONE) job->reason = reason;
  kill_all(job);
}

void refuse_job(struct job *job, const char *why) {
  if (job->is_killed || job->has_report) return;
  job->is_killed = 1;
  snprintf(job->failure, sizeof job->failure, "%s", why);
  kill_all(job);
}

void forget_job(struct job *job) {
  close_fd(&job->fds.input);
  close_fd(&job->fds.output);
  close_fd(&job->fds.errors);
  close_fd(&job->fds.terminal);
  close_fd(&job->fds.stage);
  close_fd(&job->fds.report);
  close_fd(&job->fds.channel);
  close_fd(&job->tool_pidfd);
  close_fd(&job->init_pidfd);
  close_fd(&job->mounts);
  close_fd(&job->outer_mounts);
  close_fd(&job->listener);
  while (job->tmpfs_count > 0) close(job->tmpfs[--job->tmpfs_count]);
  release(&job->said);
  release(&job->outside);
  release(&job->input);
  free(job->cpu_counter);
  job->cpu_counter = NULL;
  job->phase = JOB_FREE;
}
