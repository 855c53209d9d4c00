#ifndef PALYRA_JOB_CGROUPS_H
#define PALYRA_JOB_CGROUPS_H

#include "job.h"

/* Of this many descriptors in all, files of cgroups are held open in the lowest quarter at most. */
void hold_fewer(int descriptors);
/* NULL, or what failed, with errno; then nothing of it is left. */
const char *make_cgroups(const struct request *request, struct job *job);
/* Of those that were made. NULL, or what failed, with errno.
 * SECURITY: T-17, T-20 — before anything that runs in them could use what is limited: only who becomes the tool joins them, it waits
 * for its word, and what was set is read back and compared before that. So it is done while that process is being made. */
const char *limit_cgroups(const struct request *request, struct job *job);
/* What is read while a tool waits, or who waits for its end, is opened while nobody does. */
void open_counters(struct job *job);
/* What is counted, and with `settings` also what was set, as it is now. */
void append_cgroup_files(const struct job *job, struct buffer *buffer, uint16_t tag, int settings);
/* So that nothing forks while it is being killed. */
void stop_forking(const struct job *job);
/* All at the same time, where the kernel does that (v2, since Linux 5.14); its keeper does the same, but must find them first. */
void kill_in_cgroups(const struct job *job);
/* CPU time of all processes so far; 0 where nobody counts. */
uint64_t cpu_ms(const struct job *job);
/* Empty ones; and nothing is known of them any more. */
void remove_cgroups(struct job *job);
/* Somebody else removes them. */
void forget_cgroups(struct job *job);

#endif
