#ifndef PALYRA_STAGE_ROOT_H
#define PALYRA_STAGE_ROOT_H

#include "box-layout.h"

/* Asked once, of a process that ends: whether a user without privileges can put a root together here. Old kernels have not
 * the calls for it, containers refuse some, and a host may confine who makes a user namespace, and then bubblewrap too. */
int can_stage_root(int is_root);

/* In a mount namespace of our own, with the tool's rights and not root's: puts the sandbox's root together at BOX_PLACE.
 * 0 when a source cannot be had, which bubblewrap can explain: nothing was changed, and all of it is bubblewrap's. 1 when it
 * is done, -1 with errno when it cannot be done. */
int stage_root(struct layout *layout);

#endif
