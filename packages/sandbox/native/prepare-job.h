/* Everything of a job that is made before its first process. */
#ifndef PALYRA_PREPARE_JOB_H
#define PALYRA_PREPARE_JOB_H

#include "start-job.h"

/* For its processes; -1 where there is none. */
struct prepared {
  int child_input, child_output, child_errors, child_stage, child_channel, keeper_report;
  int idmap, ruleset, network;
};

extern const struct prepared NOTHING_PREPARED;

/* NULL, or why it is refused, with errno: a static sentence. What was made until then is in either struct. */
const char *prepare_job(const struct request *request, const struct host *host, struct prepared *prepared, struct started *started);
void close_prepared(const struct prepared *prepared);

#endif
