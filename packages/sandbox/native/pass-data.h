/* Bytes for bubblewrap, and for our own part in it: each in a sealed file in memory, by the number that the request says. */
#ifndef PALYRA_PASS_DATA_H
#define PALYRA_PASS_DATA_H

#include "box-layout.h"

/* In the process that becomes bubblewrap, in which none of these numbers is open. What a layout has put into the root is left
 * out; NULL: nothing was. 0, or -1 with errno. */
int pass_data(const struct request *request, const struct layout *layout);

#endif
