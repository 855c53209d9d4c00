#ifndef PALYRA_KILL_TREE_H
#define PALYRA_KILL_TREE_H

/* Kills every descendant of this process, whatever session or parent it gave itself, and reaps them all. This process
 * must be a child subreaper. */
void kill_tree(int is_wrapped);

#endif
