#include "crowd.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "job-life.h"
#include "pidfd-info.h"
#include "texts.h"

/* So many want a processor that whoever is woken may wait long for its turn. */
#define CROWD 64
/* Numbers that are looked at: some thousandths of a second. */
#define SPAN 16384

/* The number that was given last; 0 where it is not crowded. */
static pid_t last_in_crowd(void) {
  char load[128];
  int running;
  pid_t last;
  if (read_text("/proc/loadavg", load, sizeof load) <= 0) return 0;
  return sscanf(load, "%*s %*s %*s %d/%*d %d", &running, &last) == 2 && running > CROWD ? last : 0;
}

/* Of those after the root, by the distance from it. */
static uint8_t are_below[SPAN];

static int is_below(pid_t root, pid_t pid, pid_t parent) {
  int found = parent == root || (parent > root && parent < pid && are_below[parent - root - 1]);
  are_below[pid - root - 1] = (uint8_t)found;
  return found;
}

/* What was read of a number longer ago may be another one's by now: a crowd that forks goes through all of them in a second, and so
 * long we may wait for our next turn. */
#define VALID_US 100000

/* SECURITY: T-40 — asked when the parent was: whoever is not reaped keeps its number, and nobody else's are given again so soon. */
static int is_valid(int root, uint64_t since) { return is_held(root) && now_us() - since < VALID_US; }

/* By their numbers, one after the other, for who is below another one was made after it: to list /proc, or to have a text written of
 * each and read it, takes ten times as long. And by descriptors, for a number may be a stranger's by now. 0 where the kernel does
 * not say whose children they are, or they are no longer sure to be. */
static int signal_below(int held, pid_t last, int number) {
  const uint64_t since = now_us();
  const pid_t root = number_of_held(held);
  int can_tell = 0, is_sure = 1;
  if (root <= 0 || last <= root || last - root > SPAN) return 0;
  for (pid_t pid = root + 1; pid <= last && is_sure; pid += 1) {
    int pidfd = hold_process(pid);
    pid_t parent = pidfd < 0 ? 0 : parent_of_held(pidfd);
    if (parent > 0) can_tell = 1;
    if (is_below(root, pid, parent)) {
      is_sure = is_valid(held, since);
      if (is_sure) (void)signal_held(pidfd, number, 0);
    }
    if (pidfd >= 0) close(pidfd);
  }
  return can_tell && is_sure;
}

#define MOST_TURNS 4

/* Again from the beginning where it had to wait: fewer are in the way by then. */
static int signal_crowd(int held, pid_t last, int number) {
  for (int turn = 0; turn < MOST_TURNS && last > 0; turn += 1) {
    if (signal_below(held, last, number)) return 1;
    last = last_in_crowd();
  }
  return last == 0;
}

static void stop_crowd(pid_t keeper, pid_t last) {
  int held = hold_process(keeper);
  (void)signal_crowd(held, last, SIGSTOP);
  if (held >= 0) close(held);
}

void quiet_crowd(const struct job *job) {
  /* SECURITY: T-40 — before the word it has no crowd, and nobody has compared whose numbers those are that were read of it. */
  pid_t last = job->phase < JOB_STARTING ? 0 : last_in_crowd();
  if (last == 0) return;
  /* Outside of a sandbox whoever dies is followed by a child of one whose turn to die has not come: those are stopped first. */
  if (job->init_pidfd < 0) stop_crowd(job->fds.keeper, last);
  /* Not bubblewrap's init, which waits for the others, and so adds up what they have used. Where they cannot be told apart they die
   * with it. */
  else if (!signal_crowd(job->init_pidfd, last, SIGKILL)) (void)signal_held(job->init_pidfd, SIGKILL, 0);
}
