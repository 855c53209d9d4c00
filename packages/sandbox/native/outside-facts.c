#include "outside-facts.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "job-cgroups.h"
#include "pidfd-info.h"
#include "texts.h"

static const char FILTERED[] = "\nSeccomp:\t2", PARENT[] = "\nPPid:";

/* Its status comes first, and of that the place of `what`; NULL when it says no such thing. */
static const char *append_status(struct buffer *facts, pid_t pid, const char *what) {
  char path[64];
  size_t before = facts->length;
  snprintf(path, sizeof path, "/proc/%d/status", pid);
  append_file(facts, FACT_OUTSIDE, "status", path);
  if (facts->failed) return NULL;
  return memmem(facts->bytes + before, facts->length - before, what, strlen(what));
}

/* What the kernel wrote ends in a line's end; what was cut off does not, and there is no NUL behind it. */
static pid_t number_in(const char *at, const char *end) {
  pid_t number = 0;
  while (at < end && *at == '\t') at += 1;
  for (; at < end && *at >= '0' && *at <= '9' && number < 100000000; at += 1) number = number * 10 + (*at - '0');
  return number;
}

static void append_number(struct buffer *facts, pid_t pid) {
  uint8_t number[4];
  write_u32(number, (uint32_t)pid);
  append_item(facts, FACT_OUTSIDE_PROCESS, number, sizeof number);
}

static void append_rest(struct buffer *facts, pid_t pid) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/limits", pid);
  append_file(facts, FACT_OUTSIDE, "limits", path);
  snprintf(path, sizeof path, "/proc/%d/cgroup", pid);
  append_file(facts, FACT_OUTSIDE, "cgroup", path);
  snprintf(path, sizeof path, "/proc/%d/ns", pid);
  append_namespaces(facts, FACT_OUTSIDE, path);
}

/* 1, or 0 when it has no filter yet; then nothing was appended. */
static int append_init(struct buffer *facts, pid_t init) {
  size_t before = facts->length;
  append_number(facts, init);
  int is_filtered = append_status(facts, init, FILTERED) != NULL;
  if (is_filtered) append_rest(facts, init);
  else facts->length = before;
  return is_filtered;
}

/* Its parent, as long as it is there itself: nobody else, and none of ours. */
static int hold_init(const struct job *job) {
  return job->init > 1 && job->init != job->fds.keeper ? hold_process(job->init) : -1;
}

void look_from_outside(struct job *job) {
  uint8_t rules[4];
  struct buffer *facts = &job->outside;
  append_number(facts, job->tool);
  const char *parent = append_status(facts, job->tool, PARENT);
  job->init = parent == NULL ? 0 : number_in(parent + strlen(PARENT), (const char *)facts->bytes + facts->length);
  append_rest(facts, job->tool);
  if (job->is_wrapped && job->init_pidfd < 0) job->init_pidfd = hold_init(job);
  if (job->is_wrapped) job->is_init_seen = append_init(facts, job->init);
  append_cgroup_files(job, facts, FACT_CGROUP_FILE, 1);
  write_u32(rules, (uint32_t)job->landlock_rules);
  append_item(facts, FACT_LANDLOCK_RULES, rules, sizeof rules);
}

static int is_over(pid_t pid) {
  char path[64], status[4096];
  snprintf(path, sizeof path, "/proc/%d/status", pid);
  if (read_text(path, status, sizeof status) <= 0) return 1;
  return strstr(status, "\nState:\tZ") != NULL || strstr(status, "\nState:\tX") != NULL;
}

/* As a rule it is there at once, or in a millisecond; on a machine that others have, init may not run for long. */
enum { QUICK_LOOKS = 100, LOOKS = 300, QUICK_US = 200, SLOW_US = 5000 };

/* SECURITY: T-43 — bubblewrap's init loads its filter after it has made the tool: the tool waits for that, too. Should it never
 * come, palyrad is told what is there, and refuses it. */
static void await_init(struct job *job) {
  for (int look = 0; look < LOOKS && !job->is_init_seen; look += 1) {
    job->is_init_seen = append_init(&job->outside, job->init);
    if (job->is_init_seen) break;
    if (look >= QUICK_LOOKS && is_over(job->init)) break;
    usleep(look < QUICK_LOOKS ? QUICK_US : SLOW_US);
  }
  if (job->is_init_seen) return;
  append_number(&job->outside, job->init);
  (void)append_status(&job->outside, job->init, FILTERED);
  append_rest(&job->outside, job->init);
}

void append_outside_facts(struct buffer *facts, struct job *job) {
  if (job->outside.length == 0) look_from_outside(job);
  if (job->is_wrapped && !job->is_init_seen) await_init(job);
  append(facts, job->outside.bytes, job->outside.length);
  if (job->outside.failed) facts->failed = 1;
  release(&job->outside);
}

static pid_t parent_of(pid_t pid) {
  char path[64], status[4096];
  snprintf(path, sizeof path, "/proc/%d/status", pid);
  if (read_text(path, status, sizeof status) <= 0) return 0;
  const char *line = strstr(status, PARENT);
  return line == NULL ? 0 : atoi(line + strlen(PARENT));
}

static int open_mounts(pid_t pid) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/ns/mnt", pid);
  return open(path, O_RDONLY | O_CLOEXEC);
}

void hold_mounts(struct job *job) {
  if (!job->is_wrapped || job->mounts >= 0) return;
  job->mounts = open_mounts(job->tool);
  job->outer_mounts = open_mounts(parent_of(job->init));
}
