#include "lay-out-box.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "become-tool.h"
#include "pass-data.h"
#include "stage-root.h"
#include "staged-mounts.h"
#include "texts.h"

/* Beside those of request.h. */
#define OPTIONS_FD 8

static void pass_all(const struct request *request, const struct layout *layout) {
  if (pass_data(request, layout) != 0) give_up(STAGE_SOCKET, "data cannot be passed on");
}

static void own_user_and_mounts(const struct host *host) {
  host->forget_others();
  prctl(PR_SET_DUMPABLE, 1);
  const char *fault = own_mounts(0);
  /* A new user namespace may clear it, too. */
  if (fault == NULL && prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) fault = "privileges cannot be given up";
  if (fault != NULL) give_up(STAGE_SOCKET, fault);
}

static void put_together(struct layout *layout) {
  if (stage_root(layout) != 0) give_up(STAGE_SOCKET, "the sandbox's root cannot be put together");
}

/* A sandbox that may hold only as many processes as it takes to begin has no room for another one, not even for a moment. */
#define ROOM_FOR_ONE_MORE 16

static int has_room(const struct request *request) {
  for (int at = 0; at < request->cgroup_file_count; at += 1) {
    const struct cgroup_file *file = &request->cgroup_files[at];
    if (file->value != NULL && strcmp(file->file, "pids.max") == 0) return atoi(file->value) >= ROOM_FOR_ONE_MORE;
  }
  return 1;
}

/* Each with its NUL. */
static int write_options(int fd, const struct layout *layout) {
  struct buffer options = {0};
  for (int at = 1; at < layout->command; at += 1) append(&options, layout->left[at], strlen(layout->left[at]) + 1);
  int written = options.failed ? -1 : write_all(fd, options.bytes, options.length);
  release(&options);
  return written;
}

/* In place of the root that there is not: bubblewrap looks for this source, too, and says what is wrong with it. Should it be there by
 * now, the sandbox is one without all the other mounts, which are measured. */
static void leave_to_bubblewrap(struct layout *layout, const struct step *missing) {
  static char bind[] = "--bind";
  layout->left[LEFT_ROOT] = bind;
  layout->left[LEFT_ROOT + 1] = (char *)(uintptr_t)missing->source;
  layout->left[LEFT_ROOT + 2] = missing->at;
}

/* Anything else is what the host is short of or does not allow, and is said as that. */
static int is_about_the_source(int why) {
  return why == ENOENT || why == ENOTDIR || why == EACCES || why == ELOOP;
}

static _Noreturn void stage_and_end(struct layout *layout, const int options[2], pid_t bubblewrap) {
  /* SECURITY: T-16 — as if it were bubblewrap's own: it ends with it, and does not wait for a reader that is only itself. */
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != bubblewrap || close(options[0]) != 0) _exit(126);
  const struct step *missing = take_sources(layout);
  if (missing == NULL) put_together(layout);
  else if (is_about_the_source(errno)) leave_to_bubblewrap(layout, missing);
  else give_up(STAGE_SOCKET, "a part of the sandbox's root cannot be taken");
  _exit(write_options(options[1], layout) == 0 ? 0 : 126);
}

/* To where it is read from, and everything away that is only for who stages: bubblewrap's data have numbers among those. */
static int keep_options(int options) {
  if (options != OPTIONS_FD && dup2(options, OPTIONS_FD) < 0) return -1;
  if (fcntl(OPTIONS_FD, F_SETFD, 0) != 0 || close_range(STAGE_FILE, STAGE_FILE, 0) != 0) return -1;
  return close_range(STAGE_PROGRAM + 1, OPTIONS_FD - 1, 0) != 0 || close_range(OPTIONS_FD + 1, ~0U, 0) != 0 ? -1 : 0;
}

/* The root is put together beside us, by a copy of us, while bubblewrap is loaded and linked, which takes as long. Bubblewrap reads
 * its options to their end before it does anything, so it waits for that process to end.
 * SECURITY: T-20 — one that fails or is killed says none of them, or were there ever more than a pipe takes at once, the first of
 * them. Without any bubblewrap makes an empty root, in which there is nothing to execute; and without the last one a mount is
 * missing that is measured: however many there are, nothing is run. */
static char *const *stage_beside(const struct request *request, struct layout *layout) {
  static char read_options[] = "--args", from[8];
  static char *arguments[MAX_ARGS + 4];
  int options[2], count = 0;
  if (pipe2(options, O_CLOEXEC) != 0) give_up(STAGE_SOCKET, "pipes cannot be made");
  pid_t self = getpid(), beside = fork();
  if (beside < 0) give_up(STAGE_SOCKET, "no process can be made");
  if (beside == 0) stage_and_end(layout, options, self);
  if (keep_options(options[0]) != 0) give_up(STAGE_SOCKET, "options cannot be passed on");
  pass_all(request, layout);
  snprintf(from, sizeof from, "%d", OPTIONS_FD);
  arguments[count++] = layout->left[0];
  arguments[count++] = read_options;
  arguments[count++] = from;
  for (int at = layout->command; layout->left[at] != NULL; at += 1) arguments[count++] = layout->left[at];
  arguments[count] = NULL;
  return arguments;
}

char *const *lay_out_box(const struct request *request, const struct host *host, struct own own) {
  static struct layout layout;
  layout.has_network = own.network;
  int is_ours = host->can_stage_root && read_layout(request, &layout);
  if (is_ours && (!own.mounts || host->is_root)) own_user_and_mounts(host);
  if (is_ours && host->can_stage_beside && has_room(request)) return stage_beside(request, &layout);
  if (!is_ours || take_sources(&layout) != NULL) {
    pass_all(request, NULL);
    return request->wrapper;
  }
  put_together(&layout);
  pass_all(request, &layout);
  return layout.left;
}
