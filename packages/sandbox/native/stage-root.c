#include "stage-root.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "staged-mounts.h"
#include "texts.h"

static int set_attributes(int mount, uint64_t attributes, unsigned int flags) {
  struct mount_attr wanted = {.attr_set = attributes};
  return (int)syscall(SYS_mount_setattr, mount, "", AT_EMPTY_PATH | flags, &wanted, sizeof wanted);
}

static void close_keeping_errno(int fd) {
  int why = errno;
  close(fd);
  errno = why;
}

/* With everything that is mounted in it: nobody but who mounted that may look beneath. */
static int detached_copy(const struct step *step) {
  uint64_t attributes = MOUNT_ATTR_NOSUID;
  if (!step->has_devices) attributes |= MOUNT_ATTR_NODEV;
  if (step->is_read_only) attributes |= MOUNT_ATTR_RDONLY;
  int copy = (int)syscall(SYS_open_tree, AT_FDCWD, step->source, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
  if (copy < 0 || set_attributes(copy, attributes, AT_RECURSIVE) == 0) return copy;
  close_keeping_errno(copy);
  return -1;
}

static void close_copies(struct layout *layout) {
  for (int at = 0; at < layout->count; at += 1) {
    if (layout->steps[at].copy >= 0) close(layout->steps[at].copy);
    layout->steps[at].copy = -1;
  }
}

const struct step *take_sources(struct layout *layout) {
  for (int at = 0; at < layout->count; at += 1) {
    struct step *step = &layout->steps[at];
    if (step->kind != STEP_BIND || (step->copy = detached_copy(step)) >= 0) continue;
    int why = errno;
    close_copies(layout);
    errno = why;
    return step;
  }
  return NULL;
}

/* SECURITY: T-14 — links in what a tool can write lead nowhere but into the sandbox; where a mount came to lie is measured. */
static int open_in(int root, const char *path) {
  struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
  return (int)syscall(SYS_openat2, root, path, &how, sizeof how);
}

/* The directory in which something was made last: what is in one directory mostly comes one after the other. Forgotten as soon as
 * something is mounted anywhere but on a name in it that was made for that just now: it might cover it. */
static struct {
  int fd;
  char path[256];
} last = {.fd = -1};

static void forget_last(void) {
  if (last.fd >= 0) close(last.fd);
  last.fd = -1;
}

static int open_directory(int root, char *path);

/* The directory that `path` lies in, made if it is not there, and the last name. It stays ours. */
static int enter_parent(int root, char *path, const char **name) {
  char *slash = strrchr(path, '/');
  *name = slash + 1;
  *slash = 0;
  if (last.fd < 0 || strcmp(path, last.path) != 0) {
    int parent = open_directory(root, path);
    forget_last();
    last.fd = parent;
    /* One that is too long is nobody's name. */
    snprintf(last.path, sizeof last.path, "%s", strlen(path) < sizeof last.path ? path : "?");
  }
  *slash = '/';
  return last.fd;
}

static int is_a_name(const char *name) { return name[0] != 0 && strcmp(name, ".") != 0; }

/* A directory that is not there yet, made and opened; -1 with EEXIST when there is something. */
static int make_directory_at(int root, char *path) {
  const char *name;
  int parent = enter_parent(root, path, &name);
  if (parent < 0 || mkdirat(parent, name, 0755) != 0) return -1;
  return openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int open_directory(int root, char *path) {
  if (path[0] == 0) return open_in(root, "/");
  int found = open_in(root, path);
  if (found >= 0 || errno != ENOENT) return found;
  return make_directory_at(root, path);
}

/* A file that is not there yet, for writing; -1 with errno: what a link leads to is never written. */
static int make_file_at(int root, char *path, uint32_t mode) {
  const char *name;
  int parent = enter_parent(root, path, &name);
  if (parent < 0) return -1;
  return openat(parent, name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, mode);
}

static int make_file(int root, char *path, uint32_t mode, const struct data_file *data) {
  int file = make_file_at(root, path, mode);
  if (file < 0) return -1;
  int copied = data == NULL ? 0 : write_all(file, data->bytes, data->length);
  close_keeping_errno(file);
  return copied;
}

static int make_link(int root, char *path, const char *target) {
  const char *name;
  int parent = enter_parent(root, path, &name);
  return parent < 0 ? -1 : symlinkat(target, parent, name);
}

/* Made for it, or what is there. The name under which it is made leads nowhere else; what is there may be a link to anything. */
static int open_mount_point(int root, char *path, int is_directory) {
  if (is_a_name(strrchr(path, '/') + 1)) {
    int made = is_directory ? make_directory_at(root, path) : make_file_at(root, path, 0444);
    if (made >= 0 || errno != EEXIST) return made;
  }
  forget_last();
  return open_in(root, path);
}

static int put_in_place(int root, struct step *step) {
  struct stat stat;
  if (fstatat(step->copy, "", &stat, AT_EMPTY_PATH) != 0) return -1;
  int point = open_mount_point(root, step->at, S_ISDIR(stat.st_mode));
  if (point < 0) return -1;
  const unsigned int by_descriptor = MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH;
  int moved = (int)syscall(SYS_move_mount, step->copy, "", point, "", by_descriptor);
  close_keeping_errno(point);
  return moved;
}

/* A mount point that has been entered is meant by no name that somebody could exchange. */
static int mount_new(int root, char *path, const char *type, const char *options) {
  unsigned long flags = strcmp(type, "devpts") == 0 ? MS_NOSUID | MS_NOEXEC : MS_NOSUID | MS_NODEV;
  int point = open_mount_point(root, path, 1);
  if (point < 0) return -1;
  int mounted = fchdir(point) == 0 ? mount("palyra", ".", type, flags, options) : -1;
  close_keeping_errno(point);
  return mounted;
}

/* Of a tmpfs that says no size nothing is wanted but names. */
#define NAMES_SIZE (1024 * 1024)

static int mount_tmpfs(int root, const struct step *step) {
  char options[64];
  unsigned long long size = step->size == 0 ? NAMES_SIZE : step->size;
  snprintf(options, sizeof options, "mode=%04o,size=%llu", step->mode, size);
  return mount_new(root, step->at, "tmpfs", options);
}

static int make_read_only(int root, const char *path) {
  int place = open_in(root, path);
  if (place < 0) return -1;
  int done = set_attributes(place, MOUNT_ATTR_RDONLY, 0);
  close_keeping_errno(place);
  return done;
}

static int make_directory(int root, char *path) {
  int made = open_directory(root, path);
  if (made >= 0) close(made);
  return made < 0 ? -1 : 0;
}

static int take_step(int root, struct step *step) {
  switch (step->kind) {
    case STEP_BIND: return put_in_place(root, step);
    case STEP_TMPFS: return mount_tmpfs(root, step);
    case STEP_FILE: return make_file(root, step->at, step->mode, step->data);
    case STEP_LINK: return make_link(root, step->at, step->source);
    case STEP_DIRECTORY: return make_directory(root, step->at);
    case STEP_DEVPTS: return mount_new(root, step->at, "devpts", "newinstance,ptmxmode=0666,mode=620");
    case STEP_READ_ONLY: return make_read_only(root, step->at);
  }
  return -1;
}

/* SECURITY: T-17 — with a size: copies of approved programs may lie in it, and nothing else that is large. */
static int open_new_root(const struct layout *layout) {
  char options[64];
  unsigned long long size = 8ull * NAMES_SIZE;
  for (int at = 0; at < layout->count; at += 1) {
    if (layout->steps[at].data != NULL) size += layout->steps[at].data->length + 4096;
  }
  snprintf(options, sizeof options, "mode=0755,size=%llu", size);
  if (mount("palyra", BOX_PLACE, "tmpfs", MS_NOSUID | MS_NODEV, options) != 0) return -1;
  return open(BOX_PLACE, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int stage_root(struct layout *layout) {
  mode_t mask = umask(0);
  int root = open_new_root(layout);
  int done = root < 0 ? -1 : 0;
  for (int at = 0; done == 0 && at < layout->count; at += 1) done = take_step(root, &layout->steps[at]);
  int why = errno;
  forget_last();
  umask(mask);
  close_copies(layout);
  if (root >= 0) close(root);
  errno = why;
  return done;
}

/* Nobody's: what is tried here needs no rights to files. */
#define TRIED_AS 65534

static _Noreturn void try_to_stage(int is_root) {
  static char usr[] = "/usr", etc[] = "/etc/file", pts[] = "/dev/pts", root[] = "/";
  static struct layout tried = {.count = 4, .steps = {
    {.kind = STEP_BIND, .at = usr, .source = "/usr", .is_read_only = 1, .copy = -1},
    {.kind = STEP_FILE, .at = etc, .mode = 0444, .copy = -1},
    {.kind = STEP_DEVPTS, .at = pts, .copy = -1},
    {.kind = STEP_READ_ONLY, .at = root, .copy = -1}}};
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (is_root && (setresgid(TRIED_AS, TRIED_AS, TRIED_AS) != 0 || setresuid(TRIED_AS, TRIED_AS, TRIED_AS) != 0)) _exit(1);
  if (prctl(PR_SET_DUMPABLE, 1) != 0 || own_mounts(0) != NULL) _exit(1);
  _exit(take_sources(&tried) == NULL && stage_root(&tried) == 0 ? 0 : 1);
}

int can_stage_root(int is_root) {
  int status;
  pid_t tried = fork();
  if (tried == 0) try_to_stage(is_root);
  return tried > 0 && waitpid(tried, &status, 0) == tried && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
