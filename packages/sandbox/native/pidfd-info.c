#include "pidfd-info.h"

#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

struct info {
  uint64_t mask, cgroup;
  uint32_t pid, tgid, ppid, ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid;
  int32_t exit_code;
  uint64_t more[16];
};
#define PIDFD_GET_INFO _IOWR(0xFF, 11, struct { uint64_t words[8]; })
#define PIDFD_INFO_EXIT (1ull << 3)

int hold_process(pid_t pid) { return (int)syscall(SYS_pidfd_open, pid, 0); }

int signal_held(int pidfd, int number, unsigned int flags) {
  return (int)syscall(SYS_pidfd_send_signal, pidfd, number, NULL, flags);
}

/* Who is not reaped yet keeps its number. */
int is_held(int pidfd) { return pidfd >= 0 && signal_held(pidfd, 0, 0) == 0; }

int status_of_held(int pidfd, int *status) {
  struct info info = {.mask = PIDFD_INFO_EXIT};
  if (pidfd < 0 || ioctl(pidfd, PIDFD_GET_INFO, &info) != 0 || (info.mask & PIDFD_INFO_EXIT) == 0) return 0;
  *status = info.exit_code;
  return 1;
}
