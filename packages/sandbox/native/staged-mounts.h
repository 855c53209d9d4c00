#ifndef PALYRA_STAGED_MOUNTS_H
#define PALYRA_STAGED_MOUNTS_H

#include "request.h"

#define STAGING "/run/palyra"

/* A user namespace that maps root to this uid and gid, kept for the next job; -1 with errno. */
int idmap_namespace(uint32_t uid, uint32_t gid);

/* Leaves the host's mount namespace and puts what is staged below STAGING, from where bubblewrap takes it; without
 * bubblewrap over itself. NULL, or what failed, with errno. */
const char *stage_mounts(const struct request *request, int idmap);

#endif
