// palyra-attacker ATTEMPT [ARGUMENT]…
//
// What `palyra doctor --attack` runs as an agent's command: one attempt to get out of the box, made with nothing but the kernel,
// because a box may have no shell, no perl and no unshare. It says on a line of its own TRIED when it is about to make the
// attempt, and then how that went: OPEN, or STOPPED with the kernel's reason. Whatever else it says, or does not say, is no
// answer, and whoever reads it takes that for open.

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOT_TRIED 2

/* What the kernel said no to; 0 when the attempt came through. */
typedef int (*attempt)(char *const *arguments);

static int read_file(char *const *arguments) {
  char byte;
  int fd = open(arguments[0], O_RDONLY | O_CLOEXEC);
  if (fd < 0 || read(fd, &byte, 1) < 0) return errno;
  return 0;
}

static int write_file(char *const *arguments) {
  static const char WORDS[] = "#!/bin/sh\necho planted\n";
  int fd = open(arguments[0], O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
  if (fd < 0 || write(fd, WORDS, sizeof WORDS - 1) < 0) return errno;
  return 0;
}

static int list_directory(char *const *arguments) {
  return opendir(arguments[0]) == NULL ? errno : 0;
}

static int find_variable(char *const *arguments) {
  return getenv(arguments[0]) == NULL ? ENODATA : 0;
}

static int connect_to_loopback(char *const *arguments) {
  struct sockaddr_in there = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(arguments[0])) };
  there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || connect(fd, (struct sockaddr *)&there, sizeof there) != 0) return errno;
  return 0;
}

static int open_raw_socket(char *const *arguments) {
  (void)arguments;
  return socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP) < 0 ? errno : 0;
}

/* All at the same time: each waits until it is killed, or until we are gone. */
static int start_processes(char *const *arguments) {
  int wanted = atoi(arguments[0]), started = 0, why = 0;
  int end[2];
  if (pipe2(end, O_CLOEXEC) != 0) _exit(NOT_TRIED);
  for (; started < wanted; started++) {
    pid_t child = fork();
    if (child == 0) {
      char byte;
      close(end[1]);
      _exit(read(end[0], &byte, 1) != 0);
    }
    if (child < 0) {
      why = errno;
      break;
    }
  }
  close(end[1]);
  while (wait(NULL) > 0) continue;
  return why;
}

static int become_root_inside(char *const *arguments) {
  (void)arguments;
  return unshare(CLONE_NEWUSER) != 0 ? errno : 0;
}

/* The environment of a process by its number, and a way into its memory. */
static int look_into_process(char *const *arguments) {
  char path[64], held[64 * 1024];
  size_t length = 0;
  snprintf(path, sizeof path, "/proc/%s/environ", arguments[0]);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  for (ssize_t got; (got = read(fd, held + length, sizeof held - length)) != 0; length += (size_t)got) {
    if (got < 0) return errno;
  }
  // It is another process's number in here: nothing of the one that was meant was seen.
  if (memmem(held, length, arguments[1], strlen(arguments[1])) == NULL) return ESRCH;
  snprintf(path, sizeof path, "/proc/%s/mem", arguments[0]);
  return open(path, O_RDONLY | O_CLOEXEC) < 0 ? errno : 0;
}

static int open_terminal(char *const *arguments) {
  (void)arguments;
  return open("/dev/tty", O_RDWR | O_CLOEXEC) < 0 ? errno : 0;
}

static const struct {
  const char *name;
  int arguments;
  attempt make;
} ATTEMPTS[] = {
  { "read", 1, read_file },
  { "write", 1, write_file },
  { "list", 1, list_directory },
  { "variable", 1, find_variable },
  { "connect", 1, connect_to_loopback },
  { "raw-socket", 0, open_raw_socket },
  { "processes", 1, start_processes },
  { "namespace", 0, become_root_inside },
  { "process", 2, look_into_process },
  { "terminal", 0, open_terminal },
};

int main(int count, char **words) {
  for (size_t each = 0; count > 1 && each < sizeof ATTEMPTS / sizeof *ATTEMPTS; each++) {
    if (strcmp(words[1], ATTEMPTS[each].name) != 0 || count != 2 + ATTEMPTS[each].arguments) continue;
    setvbuf(stdout, NULL, _IOLBF, 0);
    puts("TRIED");
    int why = ATTEMPTS[each].make(words + 2);
    if (why == 0) puts("OPEN");
    else printf("STOPPED %s\n", strerror(why));
    return 0;
  }
  return NOT_TRIED;
}
