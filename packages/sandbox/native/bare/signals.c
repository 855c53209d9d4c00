/* Signals, as the kernel wants them said. */
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "system-call.h"

/* Its own form of a sigaction; a set has one bit for each of 64 signals, the first of what the library's has. */
struct kernel_action {
  void (*handler)(int);
  unsigned long flags;
  void (*restorer)(void);
  uint64_t mask;
};

#if defined __x86_64__
/* Where a handler returns to. Elsewhere the kernel has a place of its own for that. */
__asm__(".pushsection .text\n"
        ".type restore_signal, @function\n"
        "restore_signal:\n"
        "  mov $15, %eax\n" /* rt_sigreturn */
        "  syscall\n"
        ".popsection\n");
void restore_signal(void);
#define HAS_RESTORER 0x04000000ul
#define RESTORER restore_signal
#else
#define HAS_RESTORER 0ul
#define RESTORER NULL
#endif

/* What is asked for has no mask of its own, and what is told has none that anybody reads. */
int sigaction(int number, const struct sigaction *ours, struct sigaction *before) {
  struct kernel_action now = {0}, was = {0};
  if (ours != NULL) now = (struct kernel_action){ ours->sa_handler, (unsigned long)ours->sa_flags | HAS_RESTORER, RESTORER, 0 };
  long result = system_call(SYS_rt_sigaction, number, ours == NULL ? 0 : (long)&now, (long)&was, sizeof now.mask, 0, 0);
  if (result == 0 && before != NULL) {
    before->sa_handler = was.handler;
    before->sa_flags = (int)was.flags;
  }
  return result == 0 ? 0 : -1;
}

__sighandler_t signal(int number, __sighandler_t handler) {
  struct sigaction ours = { .sa_handler = handler, .sa_flags = SA_RESTART }, before;
  return sigaction(number, &ours, &before) == 0 ? before.sa_handler : SIG_ERR;
}

int sigemptyset(sigset_t *set) {
  *set = (sigset_t){0};
  return 0;
}

int sigaddset(sigset_t *set, int number) {
  *(uint64_t *)set |= 1ull << (number - 1);
  return 0;
}

int sigprocmask(int how, const sigset_t *set, sigset_t *before) {
  return system_call(SYS_rt_sigprocmask, how, (long)set, (long)before, sizeof(uint64_t), 0, 0) == 0 ? 0 : -1;
}

/* That there was one before, and how long it had, nobody asks. */
unsigned alarm(unsigned seconds) {
  struct itimerval timer = { .it_value = { .tv_sec = (time_t)seconds } };
  system_call(SYS_setitimer, ITIMER_REAL, (long)&timer, 0, 0, 0, 0);
  return 0;
}
