#ifndef PALYRA_KILL_TREE_H
#define PALYRA_KILL_TREE_H

#include <stdint.h>

/* Kills every descendant of this process, whatever session or parent it gave itself, and reaps them all. This process
 * must be a child subreaper. */
void kill_tree(int is_wrapped);

/* What they have used so far: those that die with their pid namespace are in nobody's account afterwards. */
void cpu_of_descendants(uint64_t *user_us, uint64_t *system_us);

#endif
