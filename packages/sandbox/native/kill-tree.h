#ifndef PALYRA_KILL_TREE_H
#define PALYRA_KILL_TREE_H

#include <stdint.h>

/* Kills every descendant of this process, whatever session or parent it gave itself, and reaps them all. This process
 * must be a child subreaper. */
void kill_tree(int is_wrapped);

/* Kills whom it finds now, all at the same time, and waits for none: who dies because another one did first waits, like that
 * one before it, for its turn among all that run. Says what they have used until then: those that die with their pid namespace
 * are in nobody's account afterwards. */
void kill_at_once(uint64_t *user_us, uint64_t *system_us);

#endif
