/* What the host knows of the process that becomes the tool, and of bubblewrap's init, which is its parent. */
#ifndef PALYRA_OUTSIDE_FACTS_H
#define PALYRA_OUTSIDE_FACTS_H

#include "job.h"

/* As soon as it says that nothing of it changes any more: it looks at itself meanwhile. */
void look_from_outside(struct job *job);
/* The same, and what was not to be had then. */
void append_outside_facts(struct buffer *facts, struct job *job);
/* Taking all mounts of a sandbox apart, and of the namespace in which its root was put together, takes longer than a small
 * tool runs. The last process in there would do it before anybody hears that it has ended; held by us, they are taken apart
 * when the end was told. */
void hold_mounts(struct job *job);

#endif
