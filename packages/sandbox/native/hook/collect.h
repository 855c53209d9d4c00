#ifndef PALYRA_HOOK_COLLECT_H
#define PALYRA_HOOK_COLLECT_H

/* What an agent's shell runs in the place of its own command. Returns what to exit with. */
int collect(int argc, char **argv);

#endif
