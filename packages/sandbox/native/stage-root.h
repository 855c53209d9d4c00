#ifndef PALYRA_STAGE_ROOT_H
#define PALYRA_STAGE_ROOT_H

#include "box-layout.h"

/* Asked once, of a process that ends: whether a user without privileges can put a root together here. Old kernels have not
 * the calls for it, containers refuse some, and a host may confine who makes a user namespace, and then bubblewrap too. */
int can_stage_root(int is_root);

/* Both in a mount namespace of our own, with the tool's rights and not root's. First a copy of everything that is mounted: NULL,
 * or the step whose source cannot be had, which bubblewrap can explain; nothing was changed then. */
const struct step *take_sources(struct layout *layout);
/* Then puts the sandbox's root together at BOX_PLACE. 0, or -1 with errno. */
int stage_root(struct layout *layout);

#endif
