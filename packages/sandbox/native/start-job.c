#include "start-job.h"

#include <errno.h>
#include <linux/close_range.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kill-tree.h"
#include "landlock-rules.h"
#include "prepare-job.h"
#include "run-child.h"

/* In the keeper. */

/* Before it was killed. */
static uint64_t seen_user_us, seen_system_us;

static uint64_t larger(uint64_t one, uint64_t other) { return one > other ? one : other; }

static void report_end(int fd, int wait_status) {
  struct rusage usage;
  struct keeper_report report;
  memset(&report, 0, sizeof report);
  getrusage(RUSAGE_CHILDREN, &usage);
  report.wait_status = wait_status;
  report.user_us = larger(seen_user_us, (uint64_t)usage.ru_utime.tv_sec * 1000000 + (uint64_t)usage.ru_utime.tv_usec);
  report.system_us = larger(seen_system_us, (uint64_t)usage.ru_stime.tv_sec * 1000000 + (uint64_t)usage.ru_stime.tv_usec);
  report.max_rss_bytes = (uint64_t)usage.ru_maxrss * 1024;
  (void)!write(fd, &report, sizeof report);
}

/* Until the first child is gone or the launcher says so (or died): then everything else goes too. */
static int await_end(pid_t child, const sigset_t *awaited, struct tree tree) {
  for (;;) {
    int status;
    pid_t reaped;
    while ((reaped = waitpid(-1, &status, WNOHANG)) > 0) {
      if (reaped == child) return status;
    }
    siginfo_t info;
    int number = sigwaitinfo(awaited, &info);
    if (number != SIGTERM && number != END_CROWD) continue;
    const int is_killed = number == END_CROWD && (signal_fenced(tree, SIGKILL) || tree.is_wrapped);
    if (!is_killed) kill_at_once(tree, &seen_user_us, &seen_system_us);
    kill(child, SIGKILL);
    if (waitpid(child, &status, 0) == child) return status;
  }
}

static struct tree tree_of(const struct request *request, pid_t launcher) {
  const int is_wrapped = request->wrapper_count > 0;
  /* SECURITY: T-40 — a tool's own fence is within this one, or it has a pid namespace: it does not reach its keeper. */
  return (struct tree){.is_wrapped = is_wrapped, .is_fenced = (is_wrapped || request->landlock_count > 0) && fence_signals(launcher)};
}

static _Noreturn void keep(const struct request *request, const struct host *host, const struct prepared *p) {
  sigset_t awaited;
  sigemptyset(&awaited);
  sigaddset(&awaited, SIGCHLD);
  sigaddset(&awaited, SIGTERM);
  sigaddset(&awaited, END_CROWD);
  sigprocmask(SIG_SETMASK, &awaited, NULL);
  pid_t launcher = getppid();
  setsid();
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  /* SECURITY: T-16 — a launcher that is killed takes its tools with it; SIGTERM, because the tree must be killed first. */
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != launcher) _exit(1);
  const struct tree tree = tree_of(request, launcher);
  pid_t child = fork();
  if (child == 0) run_child(request, host, p);
  /* In the place of the launcher's own socket, which needs no free descriptor: a report must never go there. */
  const int report = 3;
  if (dup2(p->keeper_report, report) != report) _exit(1);
  close_range(0, 2, 0);
  close_range(4, ~0U, 0);
  if (child < 0) _exit(1);
  int status = await_end(child, &awaited, tree);
  kill_tree(tree);
  report_end(report, status);
  _exit(0);
}

const struct started NOTHING_STARTED = {.keeper = -1, .input = -1, .output = -1, .errors = -1, .terminal = -1, .stage = -1, .report = -1, .channel = -1};

static void close_if_open(int fd) {
  if (fd >= 0) close(fd);
}

static void close_started(struct started *s) {
  close_if_open(s->input);
  close_if_open(s->output);
  close_if_open(s->errors);
  close_if_open(s->terminal);
  close_if_open(s->stage);
  close_if_open(s->report);
  close_if_open(s->channel);
  *s = NOTHING_STARTED;
}

const char *start_job(const struct request *request, const struct host *host, struct started *started) {
  struct prepared p = NOTHING_PREPARED;
  *started = NOTHING_STARTED;
  errno = 0;
  const char *fault = prepare_job(request, host, &p, started);
  if (fault == NULL) {
    started->keeper = fork();
    if (started->keeper == 0) keep(request, host, &p);
    if (started->keeper < 0) fault = "no process can be made";
  }
  int why = errno;
  close_prepared(&p);
  if (fault != NULL) close_started(started);
  errno = why;
  return fault;
}
