/* Starting one tool: a keeper that reaps and kills its whole tree, and under it the process that becomes the tool. */
#ifndef PALYRA_START_JOB_H
#define PALYRA_START_JOB_H

#include <sys/types.h>

#include "request.h"

/* What the keeper writes at the end, once. */
struct keeper_report {
  int32_t wait_status;
  uint64_t user_us, system_us, max_rss_bytes;
};

struct started {
  pid_t keeper;
  /* Our ends. `input` and `errors` are -1 where there is none; with a terminal `output` is also the input. */
  int input, output, errors;
  /* The tool's end of a terminal, so that it stays open: a tool that closes its own before it exits would be hung up. */
  int terminal;
  int stage;  /* to the process that becomes the tool */
  int report; /* from the keeper */
  int channel; /* to a gate; -1 for all others */
};

extern const struct started NOTHING_STARTED;

/* What the launcher has at hand for all jobs. */
struct host {
  int is_root;
  int has_shared_mounts; /* bubblewrap's mounts would follow the host's */
  int can_stage_root; /* what bubblewrap mounts can be put together for it */
  int can_stage_beside; /* and there is a processor to do it on meanwhile */
  int stage_program; /* what becomes the tool inside bubblewrap */
  /* Whom tools belong to, when that was said at the start: nobody else's then. */
  int has_only;
  uint32_t only_uid, only_gid;
  /* Whom gates belong to then; without it there are none. */
  int has_gate;
  uint32_t gate_uid, gate_gid;
  /* Wipes what is of other jobs from a copy of our memory. */
  void (*forget_others)(void);
};

/* NULL, or what failed, with errno. */
const char *start_job(const struct request *request, const struct host *host, struct started *started);

#endif
