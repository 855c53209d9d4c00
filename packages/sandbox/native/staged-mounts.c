#include "staged-mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "texts.h"

static int write_map(pid_t pid, const char *which, uint32_t id) {
  char path[64], map[64];
  snprintf(path, sizeof path, "/proc/%d/%s", pid, which);
  /* Root's files look like the tool's; all others keep their owner. */
  snprintf(map, sizeof map, "0 %u 1\n1 1 65534\n", id);
  return write_text(path, map);
}

/* A namespace lives as long as somebody has it open; the process that made it is not needed. */
static int make_namespace(uint32_t uid, uint32_t gid) {
  int ready[2];
  if (pipe2(ready, O_CLOEXEC) != 0) return -1;
  pid_t pid = fork();
  if (pid < 0) return -1;
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    char ok = unshare(CLONE_NEWUSER) == 0;
    if (write(ready[1], &ok, 1) != 1) _exit(1);
    pause();
    _exit(0);
  }
  char ok = 0;
  int fd = -1;
  if (read(ready[0], &ok, 1) == 1 && ok && write_map(pid, "uid_map", uid) == 0 && write_map(pid, "gid_map", gid) == 0) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/ns/user", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
  }
  int why = errno;
  kill(pid, SIGKILL);
  waitpid(pid, NULL, 0);
  close(ready[0]);
  close(ready[1]);
  errno = why;
  return fd;
}

int idmap_namespace(uint32_t uid, uint32_t gid) {
  static uint32_t kept_uid, kept_gid;
  static int kept = -1;
  if (kept >= 0 && kept_uid == uid && kept_gid == gid) return kept;
  int made = make_namespace(uid, gid);
  if (made < 0) return -1;
  if (kept >= 0) close(kept);
  kept = made;
  kept_uid = uid;
  kept_gid = gid;
  return kept;
}

static int detached_copy(const struct staged_mount *mount, int idmap) {
  /* SECURITY: T-14 — palyrad resolved this path; if it has become a symbolic link since, it is not the same place. */
  int source = open_without_links(mount->source);
  if (source < 0) return -1;
  int copy = (int)syscall(SYS_open_tree, source, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
  int why = errno;
  close(source);
  errno = why;
  if (copy < 0) return -1;
  struct mount_attr attributes = {.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV};
  if (mount->flags & STAGED_READ_ONLY) attributes.attr_set |= MOUNT_ATTR_RDONLY;
  if (mount->flags & STAGED_IDMAP) {
    attributes.attr_set |= MOUNT_ATTR_IDMAP;
    attributes.userns_fd = (uint64_t)idmap;
  }
  if (syscall(SYS_mount_setattr, copy, "", AT_EMPTY_PATH, &attributes, sizeof attributes) == 0) return copy;
  why = errno;
  close(copy);
  errno = why;
  return -1;
}

static int put_over(int copy, const char *path) {
  return (int)syscall(SYS_move_mount, copy, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH);
}

static int put_in_place(int copy, const char *name) {
  char path[256 + sizeof STAGING];
  struct stat stat;
  snprintf(path, sizeof path, "%s/%s", STAGING, name);
  if (fstatat(copy, "", &stat, AT_EMPTY_PATH) != 0) return -1;
  if (S_ISDIR(stat.st_mode)) {
    if (mkdir(path, 0755) != 0) return -1;
  } else {
    int file = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
    if (file < 0) return -1;
    close(file);
  }
  return put_over(copy, path);
}

/* Without root it takes a user namespace to have mounts of one's own; in it everybody is who they are outside. */
static int own_user_namespace(void) {
  char map[64];
  uid_t uid = geteuid();
  gid_t gid = getegid();
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 || write_text("/proc/self/setgroups", "deny") != 0) return -1;
  snprintf(map, sizeof map, "%u %u 1\n", uid, uid);
  if (write_text("/proc/self/uid_map", map) != 0) return -1;
  snprintf(map, sizeof map, "%u %u 1\n", gid, gid);
  return write_text("/proc/self/gid_map", map);
}

const char *own_mounts(int is_root) {
  if ((is_root ? unshare(CLONE_NEWNS) : own_user_namespace()) != 0) return "a mount namespace cannot be made";
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) return "mounts cannot be made private";
  return NULL;
}

const char *stage_mounts(const struct request *request, int idmap) {
  int copies[MAX_STAGED];
  int is_placed = request->wrapper_count > 0 || request->is_gate;
  if (is_placed && mkdir(STAGING, 0711) != 0 && errno != EEXIST) return "the staging directory cannot be made";
  for (int at = 0; at < request->staged_count; at += 1) {
    copies[at] = detached_copy(&request->staged[at], idmap);
    if (copies[at] < 0) return "a path cannot be given to the tool's user";
  }
  if (is_placed && mount("palyra", STAGING, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0711,size=1m") != 0) return "the staging directory cannot be mounted";
  for (int at = 0; at < request->staged_count; at += 1) {
    const struct staged_mount *staged = &request->staged[at];
    int placed = is_placed ? put_in_place(copies[at], staged->name) : put_over(copies[at], staged->source);
    if (placed != 0) return "a staged path cannot be mounted";
    close(copies[at]);
  }
  return NULL;
}
