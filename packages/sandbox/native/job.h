/* One running command, as the launcher sees it. */
#ifndef PALYRA_JOB_H
#define PALYRA_JOB_H

#include <sys/types.h>

#include "request.h"
#include "start-job.h"

/* Input that palyrad may send before some of it was taken. */
#define STDIN_WINDOW (256u * 1024)

enum phase {
  JOB_FREE = 0,
  JOB_PREPARING, /* no facts yet */
  JOB_MEASURED,  /* facts are with palyrad */
  JOB_STARTING,  /* the word was given */
  JOB_RUNNING,   /* the tool's own code */
  JOB_TOLD,      /* its end is with palyrad; to be put away */
};

struct job {
  enum phase phase;
  uint32_t id;
  struct started fds;
  pid_t tool, init; /* as the host sees them; init of a sandbox only */
  int is_init_seen;
  int tool_pidfd, init_pidfd;
  int listener; /* of one with a way out, until its gate has it; -1 otherwise */
  int mounts, outer_mounts; /* the mount namespaces of a sandbox and of the bubblewrap around it; -1 when not held */
  /* What the process that becomes the tool has said so far. */
  struct buffer said;
  struct buffer outside; /* facts, of the process that becomes the tool and of init, as far as they were looked at */
  char failure[256];
  int failure_errno;
  int landlock_rules;
  int tmpfs[MAX_TMPFS];
  int tmpfs_count;
  int is_wrapped, has_terminal, is_later, has_listener, is_gate;
  uint64_t credit;
  struct buffer input; /* not yet written */
  int input_ends;
  uint8_t last_input; /* the newest byte of it */
  uint64_t started_us, told_us, wall_us, wall_deadline_us, idle_us, idle_deadline_us;
  uint64_t output_limit, output_bytes;
  enum reason reason;
  int is_killed;
  int has_report;
  int is_orphaned; /* its keeper was killed */
  struct keeper_report report;
  /* Copies, because the request is gone by then. */
  char *cgroups[MAX_CGROUPS];
  int cgroup_count;
  struct {
    char *path;
    int is_setting;
    int fd; /* -1: to be opened each time */
  } cgroup_files[MAX_CGROUP_FILES];
  int cgroup_file_count;
  char *cpu_counter;
  uint8_t cpu_counter_unit;
  uint64_t cpu_limit_ms;
};

#endif
