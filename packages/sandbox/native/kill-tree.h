#ifndef PALYRA_KILL_TREE_H
#define PALYRA_KILL_TREE_H

#include <stdint.h>
#include <sys/types.h>

/* Kills every descendant of this process, whatever session or parent it gave itself, and reaps them all. This process
 * must be a child subreaper. */
void kill_tree(int is_wrapped);

/* Kills whom it finds now, all at the same time, and waits for none: who dies because another one did first waits, like that
 * one before it, for its turn among all that run. Says what they have used until then: those that die with their pid namespace
 * are in nobody's account afterwards. */
void kill_at_once(uint64_t *user_us, uint64_t *system_us);

/* The same for a process that has other children, too, but once: reaps who is dead, and kills all descendants but those that are
 * spared and theirs. 0 when there is nobody left; until then to be called again. */
int kill_strays(int (*spared)(pid_t pid));

/* Of a text of the kernel's, the next one; 0 after the last one that is whole. */
pid_t next_child(char **list);

#endif
