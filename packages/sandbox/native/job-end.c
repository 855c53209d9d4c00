#include "job-end.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "end-report.h"
#include "frames.h"
#include "job-cgroups.h"
#include "job-life.h"
#include "job-steps.h"
#include "job-table.h"
#include "kill-tree.h"
#include "network.h"
#include "put-away.h"

void tell_end(struct job *job) {
  if (job->failure[0] != 0 && job->reason == REASON_NONE) {
    send_failure(job->id, job->failure, job->failure_errno);
  } else {
    struct buffer ended = {0};
    append_end(&ended, job, now_us() - job->started_us);
    if (ended.failed) _exit(70);
    send_frame(FRAME_ENDED, job->id, ended.bytes, ended.length);
    release(&ended);
  }
  job->told_us = now_us();
  job->phase = JOB_TOLD;
}

static int is_ours(pid_t pid) {
  if (is_sweeper(pid) || is_maker(pid)) return 1;
  for (struct job *job = next_job(NULL); job != NULL; job = next_job(job)) {
    if (job->fds.keeper == pid) return 1;
  }
  for (struct job *job = next_told(NULL); job != NULL; job = next_told(job)) {
    if (job->fds.keeper == pid) return 1;
  }
  return 0;
}

int end_strays(void) { return kill_strays(is_ours); }

void hear_keeper(struct job *job) {
  ssize_t got = read(job->fds.report, &job->report, sizeof job->report);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  /* Killed before it could write: as if the tool had been. */
  job->has_report = got == (ssize_t)sizeof job->report;
  if (!job->has_report) {
    siginfo_t gone;
    job->report.wait_status = SIGKILL;
    /* Its files are closed before its tree is given to us. It stays unreaped, so that its number is nobody else's. */
    while (waitid(P_PID, (id_t)job->fds.keeper, &gone, WEXITED | WNOWAIT) != 0 && errno == EINTR) continue;
    job->is_orphaned = 1;
    kill_all(job);
  }
  close_fd(&job->fds.report);
}

/* SECURITY: T-16 — a keeper that was killed leaves its tree to us, the next subreaper: all that is no keeper. The end is told when
 * nobody is left; until then the others are served. */
void await_strays(struct job *job) {
  if (job->is_orphaned && !job->has_report && !end_strays()) job->has_report = 1;
}

/* What poll says of it right now; nothing of one that is closed. */
static short waiting_at(int fd) {
  struct pollfd now = {.fd = fd, .events = POLLIN};
  return poll(&now, 1, 0) > 0 ? now.revents : 0;
}

/* After everybody is dead, what they wrote is still in the pipes, and palyrad may not have asked for it yet. */
int has_ended(struct job *job) {
  if (!job->has_report) return 0;
  while (job->fds.stage >= 0) {
    hear_stage(job);
    if (waiting_at(job->fds.stage) == 0) break;
  }
  if (job->reason == REASON_OUTPUT) return 1;
  return ((waiting_at(job->fds.output) | waiting_at(job->fds.errors)) & POLLIN) == 0;
}

void watch(struct job *job, uint64_t now) {
  if (job->wall_deadline_us != 0 && now >= job->wall_deadline_us) end_job(job, REASON_WALL);
  if (job->idle_deadline_us != 0 && now >= job->idle_deadline_us && job->credit > 0) end_job(job, REASON_IDLE);
  if (job->cpu_limit_ms != 0 && job->phase == JOB_RUNNING && cpu_ms(job) >= job->cpu_limit_ms) end_job(job, REASON_CPU);
}
