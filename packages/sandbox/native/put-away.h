/* What is left of a job whose end was told: its keeper, which has no more to do than to end, cgroups that are empty, and what we
 * hold of its mounts, seen by nobody. To put that away takes longer than a small tool, and is in the way of whoever makes the next
 * sandbox, in the kernel as well. So it is left until nobody wants anything, and then is done for all of them together; of root's
 * launcher by a process of its own, so that others are served meanwhile. */
#ifndef PALYRA_PUT_AWAY_H
#define PALYRA_PUT_AWAY_H

#include "job.h"

/* At once, by ourselves. */
void put_away(struct job *job);
/* When it is time for it: `is_quiet`, that nobody has wanted anything for as long as `quiet_ms` said, or that they are old or many. */
void put_told_away(int is_quiet);
/* How long to wait at most for whoever may want something; -1 when there is nothing to put away. */
int quiet_ms(void);
/* Of this many descriptors in all: where they may run out, the next job does not find those of one that was told. */
void hold_for_less_long(int descriptors);
/* Others have no right to as many processes as they like, and one more would be somebody else's. */
void sweep_beside_us(void);
/* For one more job, also where one that was told is; NULL when there are too many. No keeper of those is left by then. */
struct job *place_for_one(void);
/* Everything that is told, and who puts away is gone. */
void put_all_away(void);
/* Whether this is who puts away: no job of anybody's. */
int is_sweeper(pid_t pid);

#endif
