/* When a tool has hundreds of processes that all run, whoever is to end them waits for a turn among them, and for another one for
 * each step that it takes. */
#ifndef PALYRA_CROWD_H
#define PALYRA_CROWD_H

#include "job.h"

/* What its keeper is to be told: SIGTERM, or where there is a crowd END_CROWD, and then whoever holds a sandbox together was
 * killed. */
int how_to_end(const struct job *job);

#endif
