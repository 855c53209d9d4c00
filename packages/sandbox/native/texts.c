#include "texts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

void append_open_file(struct buffer *buffer, uint16_t tag, const char *name, int fd) {
  struct buffer text = {0};
  char chunk[8192];
  off_t at = 0;
  for (ssize_t got; (got = pread(fd, chunk, sizeof chunk, at)) > 0; at += got) append(&text, chunk, (size_t)got);
  append_named(buffer, tag, name, text.bytes, text.length);
  release(&text);
}

void append_file(struct buffer *buffer, uint16_t tag, const char *name, const char *path) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  append_open_file(buffer, tag, name, fd);
  if (fd >= 0) close(fd);
}

void append_namespaces(struct buffer *buffer, uint16_t tag, const char *directory) {
  static const char *const NAMES[] = {"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"};
  for (size_t at = 0; at < sizeof NAMES / sizeof NAMES[0]; at += 1) {
    char path[128], link[64], name[32];
    snprintf(path, sizeof path, "%s/%s", directory, NAMES[at]);
    snprintf(name, sizeof name, "ns/%s", NAMES[at]);
    ssize_t length = readlink(path, link, sizeof link);
    append_named(buffer, tag, name, link, length < 0 ? 0 : (size_t)length);
  }
}

int write_all(int fd, const void *bytes, size_t length) {
  const char *at = bytes;
  while (length > 0) {
    ssize_t written = write(fd, at, length);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return -1;
    at += written;
    length -= (size_t)written;
  }
  return 0;
}

int write_text(const char *path, const char *text) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  int result = write_all(fd, text, strlen(text));
  int why = errno;
  close(fd);
  errno = why;
  return result;
}

long read_text(const char *path, char *into, size_t room) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  ssize_t got = read(fd, into, room - 1);
  int why = errno;
  close(fd);
  errno = why;
  if (got < 0) return -1;
  into[got] = 0;
  return got;
}

static int step(int directory, const char *name) {
  int next = openat(directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  struct stat stat;
  if (next >= 0 && (fstat(next, &stat) != 0 || S_ISLNK(stat.st_mode))) {
    close(next);
    errno = ELOOP;
    next = -1;
  }
  int why = errno;
  close(directory);
  errno = why;
  return next;
}

int open_without_links(const char *path) {
  char copy[4096], *rest = copy, *name;
  if (path[0] != '/' || strlen(path) >= sizeof copy) {
    errno = ENAMETOOLONG;
    return -1;
  }
  strcpy(copy, path);
  int at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  while (at >= 0 && (name = strsep(&rest, "/")) != NULL) {
    if (name[0] == 0 || strcmp(name, ".") == 0) continue;
    at = step(at, name);
  }
  return at;
}

int memory_file(const char *name, const void *bytes, size_t length) {
  const int seals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return -1;
  if (write_all(fd, bytes, length) != 0 || lseek(fd, 0, SEEK_SET) != 0 || fcntl(fd, F_ADD_SEALS, seals) != 0) {
    close(fd);
    return -1;
  }
  return fd;
}
