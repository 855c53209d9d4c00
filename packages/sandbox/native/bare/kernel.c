/* System calls by the names and with the types of the C library's headers. Those that only one kind of machine has (open, dup2,
 * lstat, readlink) are asked for by the one that all have. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "system-call.h"

/* One process, one thread. */
static int last_error;

int *__errno_location(void) { return &last_error; }

static long settled(long result) {
  if (result >= 0 || result < -4095) return result;
  last_error = (int)-result;
  return -1;
}

#define ASK(name, a, b, c, d, e) settled(system_call(SYS_##name, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0))

_Noreturn void _exit(int status) {
  for (;;) ASK(exit_group, status, 0, 0, 0, 0);
}

int close(int fd) { return (int)ASK(close, fd, 0, 0, 0, 0); }

int close_range(unsigned first, unsigned last, int flags) { return (int)ASK(close_range, first, last, flags, 0, 0); }

/* Nothing is created here, so there is no mode. */
int open(const char *path, int flags, ...) { return (int)ASK(openat, AT_FDCWD, path, flags, 0, 0); }

ssize_t read(int fd, void *into, size_t length) { return ASK(read, fd, into, length, 0, 0); }

ssize_t pread(int fd, void *into, size_t length, off_t from) { return ASK(pread64, fd, into, length, from, 0); }

ssize_t write(int fd, const void *bytes, size_t length) { return ASK(write, fd, bytes, length, 0, 0); }

/* The kernel says how long it is, the library where. */
char *getcwd(char *into, size_t room) { return ASK(getcwd, into, room, 0, 0, 0) > 0 ? into : NULL; }

ssize_t readlink(const char *path, char *into, size_t room) { return ASK(readlinkat, AT_FDCWD, path, into, room, 0); }

int fstat(int fd, struct stat *found) { return (int)ASK(fstat, fd, found, 0, 0, 0); }

int lstat(const char *path, struct stat *found) {
  return (int)ASK(newfstatat, AT_FDCWD, path, found, AT_SYMLINK_NOFOLLOW, 0);
}

/* Unlike dup2 it refuses to put one in its own place; whoever opened one just now has it elsewhere. */
int dup2(int from, int to) { return (int)ASK(dup3, from, to, 0, 0, 0); }

int fcntl(int fd, int what, ...) {
  va_list more;
  va_start(more, what);
  int argument = va_arg(more, int);
  va_end(more);
  return (int)ASK(fcntl, fd, what, argument, 0, 0);
}

int ioctl(int fd, unsigned long what, ...) {
  va_list more;
  va_start(more, what);
  int argument = va_arg(more, int);
  va_end(more);
  return (int)ASK(ioctl, fd, what, argument, 0, 0);
}

int socket(int domain, int type, int protocol) { return (int)ASK(socket, domain, type, protocol, 0, 0); }

int bind(int fd, const struct sockaddr *address, socklen_t length) { return (int)ASK(bind, fd, address, length, 0, 0); }

int listen(int fd, int backlog) { return (int)ASK(listen, fd, backlog, 0, 0, 0); }

int connect(int fd, const struct sockaddr *address, socklen_t length) {
  return (int)ASK(connect, fd, address, length, 0, 0);
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t length) {
  return (int)ASK(setsockopt, fd, level, name, value, length);
}

int shutdown(int fd, int how) { return (int)ASK(shutdown, fd, how, 0, 0, 0); }

ssize_t recv(int fd, void *into, size_t length, int flags) { return ASK(recvfrom, fd, into, length, flags, 0); }

/* For as long as it takes, or not at all: our sources wait for nothing else. */
int poll(struct pollfd *polled, nfds_t count, int timeout) {
  static const struct timespec at_once;
  return (int)ASK(ppoll, polled, count, timeout < 0 ? NULL : &at_once, NULL, 0);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags) { return ASK(sendmsg, fd, message, flags, 0, 0); }

ssize_t recvmsg(int fd, struct msghdr *message, int flags) { return ASK(recvmsg, fd, message, flags, 0, 0); }

int prlimit(pid_t process, __rlimit_resource_t resource, const struct rlimit *limit, struct rlimit *before) {
  return (int)ASK(prlimit64, process, resource, limit, before, 0);
}

int setrlimit(__rlimit_resource_t resource, const struct rlimit *limit) { return prlimit(0, resource, limit, NULL); }

pid_t setsid(void) { return (pid_t)ASK(setsid, 0, 0, 0, 0, 0); }

mode_t umask(mode_t mask) { return (mode_t)ASK(umask, mask, 0, 0, 0, 0); }

int chdir(const char *path) { return (int)ASK(chdir, path, 0, 0, 0, 0); }

int execve(const char *path, char *const *arguments, char *const *environment) {
  return (int)ASK(execve, path, arguments, environment, 0, 0);
}

uid_t geteuid(void) { return (uid_t)ASK(geteuid, 0, 0, 0, 0, 0); }

ssize_t getrandom(void *into, size_t length, unsigned flags) { return ASK(getrandom, into, length, flags, 0, 0); }
