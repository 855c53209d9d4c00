#ifndef PALYRA_LANDLOCK_RULES_H
#define PALYRA_LANDLOCK_RULES_H

#include <sys/types.h>

#include "request.h"

/* The newest version the kernel knows; 0 without Landlock. */
int landlock_version(void);

/* A ruleset for these rules, kept for the next job with the same ones; -1 with errno. `rules` gets how many it has. */
int landlock_ruleset(const struct request *request, int *rules);

/* From here on this process reaches nothing else; -1 with errno. */
int landlock_enter(int ruleset);

/* From here on this process and what it starts can signal nobody else, so that everybody is nobody but these: not who is outside
 * either. 0 where the kernel does not see to that (it does since Linux 6.15). */
int fence_signals(pid_t outside);

#endif
