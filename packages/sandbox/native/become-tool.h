/* The last steps before the tool's first instruction, in the process that becomes it. */
#ifndef PALYRA_BECOME_TOOL_H
#define PALYRA_BECOME_TOOL_H

#include "request.h"

/* What a process in a sandbox says first, with the descriptors that it hands over. */
#define STAGE_BRINGS 'B'
/* And then: from here on nothing of it changes, and who looks at it from outside need not wait. */
#define STAGE_HERE 'H'

/* Says over `socket` what failed, and why: one letter, errno (u32), a sentence. The launcher has the words for the number. */
#define FAULT_HEADER 5
_Noreturn void give_up(int socket, const char *what);

/* Sets limits, says over `socket` what is true here, waits for the word, and executes. Does not return. In a wrapper's
 * sandbox (`isolated`) that includes mounts and routes; else they are the host's. */
_Noreturn void become_tool(const struct request *request, int socket, int isolated);

/* What bubblewrap executes: `palyra-stage`, or `palyra-launcher stage` where there is none. */
int stage_main(void);

#endif
