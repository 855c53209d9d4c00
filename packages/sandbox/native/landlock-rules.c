#include "landlock-rules.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "texts.h"

/* Our own words for the kernel's: the headers of an older system lack half of them. */
#define CREATE_RULESET 444
#define ADD_RULE 445
#define RESTRICT_SELF 446
#define VERSION_FLAG 1
#define RULE_PATH_BENEATH 1

#define FS_EXECUTE (1ull << 0)
#define FS_WRITE_FILE (1ull << 1)
#define FS_READ_FILE (1ull << 2)
#define FS_READ_DIR (1ull << 3)
#define FS_REFER (1ull << 13)
#define FS_TRUNCATE (1ull << 14)
#define FS_VERSION_1 ((1ull << 13) - 1)
#define FS_OF_FILES (FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE)
#define FS_READ (FS_EXECUTE | FS_READ_FILE | FS_READ_DIR)

#define SCOPE_ABSTRACT_UNIX (1ull << 0)
#define SCOPE_SIGNAL (1ull << 1)

struct ruleset_attributes {
  uint64_t fs, net, scoped;
};

struct path_rule {
  uint64_t access;
  int32_t fd;
} __attribute__((packed));

int landlock_version(void) {
  long version = syscall(CREATE_RULESET, NULL, 0, VERSION_FLAG);
  return version < 0 ? 0 : (int)version;
}

static uint64_t handled(int version) {
  uint64_t fs = FS_VERSION_1;
  if (version >= 2) fs |= FS_REFER;
  if (version >= 3) fs |= FS_TRUNCATE;
  return fs;
}

static int create(int version) {
  struct ruleset_attributes attributes = {.fs = handled(version)};
  /* The kernel refuses fields that it does not know. */
  size_t known = version >= 6 ? sizeof attributes : version >= 4 ? 16 : 8;
  /* SECURITY: T-40 — with one uid for everybody, signals and abstract sockets would reach palyrad and other jobs. */
  if (version >= 6) attributes.scoped = SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL;
  return (int)syscall(CREATE_RULESET, &attributes, known, 0);
}

/* 1: added, 0: there is no such path any more, -1 with errno. */
static int add(int ruleset, const struct landlock_rule *rule, uint64_t fs) {
  /* SECURITY: T-40 — a link that took the place of what was listed would open what it points to. */
  int fd = open_without_links(rule->path);
  if (fd < 0) return errno == ENOENT || errno == EACCES || errno == ELOOP || errno == ENOTDIR ? 0 : -1;
  struct stat stat;
  struct path_rule beneath = {.access = rule->writable ? fs : fs & FS_READ, .fd = fd};
  int result = fstat(fd, &stat);
  if (result == 0) {
    if (!S_ISDIR(stat.st_mode)) beneath.access &= FS_OF_FILES;
    result = (int)syscall(ADD_RULE, ruleset, RULE_PATH_BENEATH, &beneath, 0);
  }
  int why = errno;
  close(fd);
  errno = why;
  return result == 0 ? 1 : -1;
}

static int build(const struct request *request, int *rules) {
  int version = landlock_version();
  if (version == 0) {
    errno = ENOSYS;
    return -1;
  }
  int ruleset = create(version);
  if (ruleset < 0) return -1;
  *rules = 0;
  for (int at = 0; at < request->landlock_count; at += 1) {
    int added = add(ruleset, &request->landlock[at], handled(version));
    if (added < 0) {
      int why = errno;
      close(ruleset);
      errno = why;
      return -1;
    }
    *rules += added;
  }
  return ruleset;
}

/* Opening a hundred paths takes longer than starting a process, and the rules seldom change: palyrad sends others as
 * soon as a directory that they list has changed. */
struct kept {
  struct buffer key;
  int ruleset, rules;
};

#define KEPT 8
static struct kept kept[KEPT];
static int next_place;

static void key_of(const struct request *request, struct buffer *key) {
  if (request->landlock_stamp != NULL) append(key, request->landlock_stamp, strlen(request->landlock_stamp) + 1);
  for (int at = 0; at < request->landlock_count; at += 1) {
    append(key, request->landlock[at].writable ? "w" : "r", 1);
    append(key, request->landlock[at].path, strlen(request->landlock[at].path) + 1);
  }
}

int landlock_ruleset(const struct request *request, int *rules) {
  struct buffer key = {0};
  key_of(request, &key);
  for (int at = 0; at < KEPT; at += 1) {
    if (kept[at].key.length != key.length || key.length == 0) continue;
    if (memcmp(kept[at].key.bytes, key.bytes, key.length) != 0) continue;
    release(&key);
    *rules = kept[at].rules;
    return kept[at].ruleset;
  }
  int ruleset = build(request, rules);
  if (ruleset < 0 || key.failed) {
    release(&key);
    return ruleset;
  }
  struct kept *place = &kept[next_place];
  next_place = (next_place + 1) % KEPT;
  if (place->key.length > 0) close(place->ruleset);
  release(&place->key);
  *place = (struct kept){.key = key, .ruleset = ruleset, .rules = *rules};
  return ruleset;
}

int landlock_enter(int ruleset) { return (int)syscall(RESTRICT_SELF, ruleset, 0); }

/* Since version 7. The one before made every domain refuse to move files between directories, also one that is about none. */
#define FENCE_VERSION 7
/* Its version, too. Whom a fence keeps from being signalled is not worth a line in the host's log, for each process there is. */
#define LOG_NOTHING_OF_OURS (1u << 0)

static int can_signal(pid_t pid) { return kill(pid, 0) == 0; }

int fence_signals(pid_t outside) {
  const struct ruleset_attributes attributes = {.scoped = SCOPE_SIGNAL};
  if (landlock_version() < FENCE_VERSION || !can_signal(outside) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return 0;
  int ruleset = (int)syscall(CREATE_RULESET, &attributes, sizeof attributes, 0);
  if (ruleset < 0) return 0;
  int entered = (int)syscall(RESTRICT_SELF, ruleset, LOG_NOTHING_OF_OURS);
  close(ruleset);
  /* SECURITY: T-40 — seen, and not only said: of whoever has no fence everybody is all of its user, and with root the machine. */
  return entered == 0 && !can_signal(outside) && errno == EPERM;
}
