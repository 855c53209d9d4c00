#include "pass-signal.h"

#include <signal.h>
#include <sys/ioctl.h>

#include "pidfd-info.h"

/* Of Linux 6.9. */
#define TO_PROCESS_GROUP (1u << 2)

/* A terminal sends these to everybody in the foreground, and programs count on it: a shell goes on when only itself is
 * interrupted, because what it waits for was not. */
static int is_for_group(int number) {
  return number == SIGINT || number == SIGQUIT || number == SIGTSTP || number == SIGCONT || number == SIGHUP;
}

void pass_signal(const struct job *job, int number) {
  /* The kernel knows who is in the foreground of a terminal, and takes three of them there. */
  if (job->has_terminal && job->fds.output >= 0 && ioctl(job->fds.output, TIOCSIG, number) == 0) return;
  /* SECURITY: T-40 — the process that was measured, or nobody: its number may be a stranger's by now, and we may be root. */
  if (is_for_group(number) && signal_held(job->tool_pidfd, number, TO_PROCESS_GROUP) == 0) return;
  signal_held(job->tool_pidfd, number, 0);
}
