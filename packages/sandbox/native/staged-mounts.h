#ifndef PALYRA_STAGED_MOUNTS_H
#define PALYRA_STAGED_MOUNTS_H

#include "request.h"

#define STAGING "/run/palyra"

/* A user namespace that maps root to this uid and gid, kept for the next job; -1 with errno. */
int idmap_namespace(uint32_t uid, uint32_t gid);

/* SECURITY: T-44 — leaves the host's mount namespace, so that nothing that the host mounts later appears. NULL, or what
 * failed, with errno. */
const char *own_mounts(int is_root);

/* In a mount namespace of our own: puts what is staged below STAGING, from where bubblewrap, or a gate, takes
 * it; of any other tool over itself. NULL, or what failed, with errno. */
const char *stage_mounts(const struct request *request, int idmap);

#endif
