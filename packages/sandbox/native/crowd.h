/* When a tool has hundreds of processes that all run, whoever is to end them waits for a turn among them, and for another one for
 * each step that it takes. */
#ifndef PALYRA_CROWD_H
#define PALYRA_CROWD_H

#include "job.h"

/* Kills those in a sandbox, and stops others, as many as it finds in the few turns that the launcher has; does nothing where there is
 * no crowd. Who was missed is the keeper's to find, and so is who came meanwhile. */
void quiet_crowd(const struct job *job);

#endif
