#include "open-stage.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "texts.h"
#include "wire.h"

static const char NAME[] = "palyra-stage";

/* Some 26 KB. */
#define MOST_BYTES (1024 * 1024)

/* Where we are, and no link to it. 0 when that is not to be had. */
static int name_beside(char *path, size_t room) {
  ssize_t length = readlink("/proc/self/exe", path, room);
  if (length <= 0 || (size_t)length >= room) return 0;
  path[length] = 0;
  char *last = strrchr(path, '/');
  if (last == NULL || (size_t)(last + 1 - path) + sizeof NAME > room) return 0;
  memcpy(last + 1, NAME, sizeof NAME);
  return 1;
}

/* SECURITY: T-20 — what it says of the sandbox is believed as far as the stage is ours. It is, when nobody may write it who may not
 * write us: it has our owner and our mode, which lets nobody else write, and lies in our directory. */
static int is_ours(int stage, int own) {
  struct stat found, of_us;
  if (fstat(stage, &found) != 0 || fstat(own, &of_us) != 0) return 0;
  if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0) return 0;
  return S_ISREG(found.st_mode) && found.st_mode == of_us.st_mode && found.st_uid == of_us.st_uid && found.st_gid == of_us.st_gid;
}

/* To be executed, and so not open for writing. */
static int read_only(int fd) {
  char path[32];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  int again = fchmod(fd, 0555) == 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  close(fd);
  return again;
}

/* SECURITY: T-20 — our own file is busy for as long as we run, and nobody can write it; the stage's is not. A tool that may write where
 * we are installed could have the next sandbox execute what it likes. So what is executed is a copy that nobody can write. */
static int copied(int stage) {
  uint8_t piece[4096];
  struct buffer all = {0};
  ssize_t got;
  while (all.length < MOST_BYTES && (got = read(stage, piece, sizeof piece)) > 0) append(&all, piece, (size_t)got);
  int copy = all.failed || all.length >= MOST_BYTES ? -1 : memory_file(NAME, all.bytes, all.length);
  release(&all);
  return copy < 0 ? -1 : read_only(copy);
}

/* Whether it can be executed here, where memory files may be forbidden, is whole, and speaks as we do. */
static int says_our_version(int stage) {
  char path[32];
  char *const arguments[] = {(char *)NAME, (char *)"version", NULL};
  char *const nothing[] = {NULL};
  int status;
  snprintf(path, sizeof path, "/proc/self/fd/%d", stage);
  pid_t asked = fork();
  if (asked == 0) {
    /* What is none of ours has nothing to tell. */
    for (int standard = 0; standard <= 2; standard += 1) close(standard);
    execve(path, arguments, nothing);
    _exit(127);
  }
  return asked > 0 && waitpid(asked, &status, 0) == asked && WIFEXITED(status) && WEXITSTATUS(status) == WIRE_VERSION;
}

/* -1: there is none, or none for us. */
static int open_beside(int own) {
  char path[4096];
  if (!name_beside(path, sizeof path)) return -1;
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return -1;
  int stage = is_ours(file, own) ? copied(file) : -1;
  close(file);
  if (stage >= 0 && says_our_version(stage)) return stage;
  if (stage >= 0) close(stage);
  return -1;
}

int open_stage(void) {
  int own = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  int stage = own < 0 ? -1 : open_beside(own);
  if (stage < 0) return own;
  close(own);
  return stage;
}
