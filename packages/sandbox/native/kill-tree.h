#ifndef PALYRA_KILL_TREE_H
#define PALYRA_KILL_TREE_H

#include <stdint.h>
#include <sys/types.h>

/* What is known of all descendants of a process; without it they are found by a look at every process of the machine. */
struct tree {
  int is_wrapped; /* they die with the init of a pid namespace */
  int is_fenced;  /* they are all that this process can signal */
};

/* Kills every descendant of this process, whatever session or parent it gave itself, and reaps them all. This process
 * must be a child subreaper. */
void kill_tree(struct tree tree);

/* For a keeper: as SIGTERM, and so many are running that there is no time to count what they have used. Of what is in a sandbox
 * init has been killed. */
#define END_CROWD SIGUSR1

/* All of them in one call; 0 where they are not fenced. */
int signal_fenced(struct tree tree, int number);

/* Kills whom it finds now, all at the same time, and waits for none: who dies because another one did first waits, like that
 * one before it, for its turn among all that run. Says what they have used until then: those that die with their pid namespace
 * are in nobody's account afterwards. */
void kill_at_once(struct tree tree, uint64_t *user_us, uint64_t *system_us);

/* The same for a process that has other children, too, but once: reaps who is dead, and kills all descendants but those that are
 * spared and theirs. 0 when there is nobody left; until then to be called again. */
int kill_strays(int (*spared)(pid_t pid));

/* Of a text of the kernel's, the next one; 0 after the last one that is whole. */
pid_t next_child(char **list);

#endif
