#include "end-report.h"

#include <sys/vfs.h>
#include <sys/wait.h>

#include "job-cgroups.h"
#include "pidfd-info.h"

/* How the tool itself ended: bubblewrap says 128 + n for a signal, as shells do. */
static void append_status(const struct job *job, struct buffer *ended) {
  uint8_t bytes[10];
  int status = job->report.wait_status;
  int exact = !job->is_wrapped || status_of_held(job->tool_pidfd, &status);
  uint32_t code = WIFEXITED(status) ? (uint32_t)WEXITSTATUS(status) : 0;
  uint32_t signal_number = WIFSIGNALED(status) ? (uint32_t)WTERMSIG(status) : 0;
  if (!exact && code > 128 && code <= 128 + 64) {
    signal_number = code - 128;
    code = 0;
  }
  write_u32(bytes, code);
  write_u32(bytes + 4, signal_number);
  bytes[8] = (uint8_t)exact;
  bytes[9] = (uint8_t)job->reason;
  append_item(ended, ENDED_STATUS, bytes, sizeof bytes);
}

static void append_usage(const struct job *job, struct buffer *ended, uint64_t ran_us) {
  uint8_t bytes[40];
  write_u64(bytes, job->report.user_us);
  write_u64(bytes + 8, job->report.system_us);
  write_u64(bytes + 16, job->report.max_rss_bytes);
  write_u64(bytes + 24, ran_us);
  write_u64(bytes + 32, job->output_bytes);
  append_item(ended, ENDED_USAGE, bytes, sizeof bytes);
}

/* Less than a page is nothing. */
static uint8_t is_full(const struct job *job) {
  for (int at = 0; at < job->tmpfs_count; at += 1) {
    struct statfs room;
    if (fstatfs(job->tmpfs[at], &room) == 0 && room.f_blocks > 0 && room.f_bfree == 0) return 1;
  }
  return 0;
}

void append_end(struct buffer *ended, const struct job *job, uint64_t ran_us) {
  uint8_t full = is_full(job);
  uint8_t was_started = job->phase >= JOB_STARTING && job->failure[0] == 0;
  append_status(job, ended);
  append_usage(job, ended, ran_us);
  append_cgroup_files(job, ended, ENDED_CGROUP_FILE, 0);
  append_item(ended, ENDED_STARTED, &was_started, 1);
  append_item(ended, ENDED_FULL, &full, 1);
}
