/* What bubblewrap is executed with. */
#ifndef PALYRA_LAY_OUT_BOX_H
#define PALYRA_LAY_OUT_BOX_H

#include "start-job.h"

/* What that process has of its own already. */
struct own {
  int mounts, network;
};

/* In the process that becomes bubblewrap, when it has the tool's user: its arguments, of which the first is the program. What it
 * would do by name, and look up in the table of all mounts after each, is done by descriptor, with the rights that it would have
 * had; whether it came out as planned is measured in either case. Gives up where it cannot be done. */
char *const *lay_out_box(const struct request *request, const struct host *host, struct own own);

#endif
