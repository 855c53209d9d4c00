/* The process that becomes bubblewrap, or the tool where there is no bubblewrap. */
#ifndef PALYRA_RUN_CHILD_H
#define PALYRA_RUN_CHILD_H

#include "prepare-job.h"

/* Gives up every right that the tool must not have, and executes it. What fails is said on the stage's socket. */
_Noreturn void run_child(const struct request *request, const struct host *host, const struct prepared *prepared);

#endif
