/* What is left of a job whose end was told: its keeper, which has no more to do than to end, cgroups that are empty, and what we
 * hold of its mounts, seen by nobody. To put that away takes longer than a small tool, and nobody has to wait for it. */
#ifndef PALYRA_PUT_AWAY_H
#define PALYRA_PUT_AWAY_H

#include "job.h"

/* As long as nobody wants anything, of a loop that has something to put away. */
#define PUT_AWAY_NS 30000

void put_away(struct job *job);
/* All of them when nobody wants anything, and otherwise those that have waited for long. */
void put_told_away(int is_quiet);
/* Of this many descriptors in all: where they may run out, the next job does not find those of one that was told. */
void hold_for_less_long(int descriptors);
/* For one more job, also where one that was told is; NULL when there are too many. No keeper of those is left by then. */
struct job *place_for_one(void);

#endif
