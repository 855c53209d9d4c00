#include "late.h"

#include <signal.h>
#include <stddef.h>

void when_late(void (*handler)(int)) {
  struct sigaction late = { .sa_handler = handler };
  sigaction(SIGALRM, &late, NULL);
  sigset_t waking;
  sigemptyset(&waking);
  sigaddset(&waking, SIGALRM);
  sigprocmask(SIG_UNBLOCK, &waking, NULL);
}
