#include "outside-facts.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "job-cgroups.h"
#include "texts.h"

static void append_process(struct buffer *facts, pid_t pid) {
  uint8_t number[4];
  char path[64];
  write_u32(number, (uint32_t)pid);
  append_item(facts, FACT_OUTSIDE_PROCESS, number, sizeof number);
  snprintf(path, sizeof path, "/proc/%d/status", pid);
  append_file(facts, FACT_OUTSIDE, "status", path);
  snprintf(path, sizeof path, "/proc/%d/limits", pid);
  append_file(facts, FACT_OUTSIDE, "limits", path);
  snprintf(path, sizeof path, "/proc/%d/cgroup", pid);
  append_file(facts, FACT_OUTSIDE, "cgroup", path);
  snprintf(path, sizeof path, "/proc/%d/ns", pid);
  append_namespaces(facts, FACT_OUTSIDE, path);
}

/* SECURITY: T-43 — bubblewrap's init loads its filter after it has made the tool: the tool waits for that, too. */
static void await_filter(pid_t init) {
  char path[64], status[4096];
  snprintf(path, sizeof path, "/proc/%d/status", init);
  for (int attempt = 0; attempt < 100; attempt += 1) {
    if (read_text(path, status, sizeof status) <= 0 || strstr(status, "\nSeccomp:\t2") != NULL) return;
    usleep(200);
  }
}

static pid_t parent_of(pid_t pid) {
  char path[64], status[4096];
  snprintf(path, sizeof path, "/proc/%d/status", pid);
  if (read_text(path, status, sizeof status) <= 0) return 0;
  const char *line = strstr(status, "\nPPid:");
  return line == NULL ? 0 : atoi(line + strlen("\nPPid:"));
}

static int open_mounts(pid_t pid) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/ns/mnt", pid);
  return open(path, O_RDONLY | O_CLOEXEC);
}

void hold_mounts(struct job *job) {
  if (!job->is_wrapped || job->mounts >= 0) return;
  job->mounts = open_mounts(job->tool);
  job->outer_mounts = open_mounts(parent_of(parent_of(job->tool)));
}

void append_outside_facts(struct buffer *facts, const struct job *job) {
  uint8_t rules[4];
  append_process(facts, job->tool);
  if (job->is_wrapped) {
    pid_t init = parent_of(job->tool);
    await_filter(init);
    append_process(facts, init);
  }
  append_cgroup_files(job, facts, FACT_CGROUP_FILE, 1);
  write_u32(rules, (uint32_t)job->landlock_rules);
  append_item(facts, FACT_LANDLOCK_RULES, rules, sizeof rules);
}
