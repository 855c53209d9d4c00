#include "short-turns.h"

#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The least that the kernel takes. */
#define SHORT_NS 100000
/* Some three usual ones. With longer ones nobody is woken sooner, and a crowd's own processes wait longer for one another. */
#define TOOL_NS 10000000

/* As the kernel has it: how nice it is, and the rest, stays as it was. */
struct turns {
  uint32_t size, policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime, deadline, period;
  uint32_t least, most;
};

static void take_turns_of(uint64_t nanoseconds) {
  struct turns turns = {0};
  if (syscall(SYS_sched_getattr, 0, &turns, sizeof turns, 0) != 0 || turns.policy != SCHED_OTHER) return;
  turns.runtime = nanoseconds;
  (void)syscall(SYS_sched_setattr, 0, &turns, 0);
}

void take_short_turns(void) { take_turns_of(SHORT_NS); }

void take_usual_turns(void) { take_turns_of(0); }

void take_tool_turns(void) { take_turns_of(TOOL_NS); }
