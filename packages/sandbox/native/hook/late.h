#ifndef PALYRA_HOOK_LATE_H
#define PALYRA_HOOK_LATE_H

/* Has this called when the alarm rings, also where whoever started this program has blocked that. */
void when_late(void (*handler)(int));

#endif
