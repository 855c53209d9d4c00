/* The last steps before the tool's first instruction, in the process that becomes it. */
#ifndef PALYRA_BECOME_TOOL_H
#define PALYRA_BECOME_TOOL_H

#include "request.h"

/* What a process in a sandbox says first: from here on nothing of it changes, and who looks at it from outside need not wait. */
#define STAGE_HERE 'H'

/* Says over `socket` what failed, and why by errno: one letter and a sentence, read by the launcher, shown to a person. */
_Noreturn void give_up(int socket, const char *what);

/* Sets limits, says over `socket` what is true here, waits for the word, and executes. Does not return. In a wrapper's
 * sandbox (`isolated`) that includes mounts and routes; else they are the host's. */
_Noreturn void become_tool(const struct request *request, int socket, int isolated);

/* `palyra-launcher stage`: what bubblewrap executes. */
int stage_main(void);

#endif
