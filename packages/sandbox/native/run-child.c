#include "run-child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "become-tool.h"
#include "landlock-rules.h"
#include "lay-out-box.h"
#include "short-turns.h"
#include "staged-mounts.h"
#include "texts.h"

/* Beside those of request.h, and above all of them while they change places. */
#define RULESET_FD 6
#define FIRST_PASSING_FD 200
#define MOST_PLACED 8

/* In version 1 by `tasks`: one thread that moves itself needs no lock of the whole machine, and a move by `cgroup.procs`
 * waits 5 to 10 ms for one. Version 2 has no such file. */
static int join_cgroup(const char *directory) {
  char path[1024];
  snprintf(path, sizeof path, "%s/tasks", directory);
  if (write_text(path, "0") == 0) return 0;
  if (errno != ENOENT) return -1;
  snprintf(path, sizeof path, "%s/cgroup.procs", directory);
  return write_text(path, "0");
}

static void join_cgroups(const struct request *request, int stage) {
  for (int at = 0; at < request->cgroup_count; at += 1) {
    if (join_cgroup(request->cgroups[at]) != 0) give_up(stage, "the cgroup cannot be joined");
  }
}

/* SECURITY: T-42 — before bubblewrap, which would only rename: a uid inside a namespace is what it is outside. */
static void take_identity(const struct request *request, int stage) {
  if (!request->has_identity) return;
  if (setgroups(0, NULL) != 0) give_up(stage, "groups cannot be dropped");
  if (setresgid(request->gid, request->gid, request->gid) != 0) give_up(stage, "the group cannot be taken");
  if (setresuid(request->uid, request->uid, request->uid) != 0) give_up(stage, "the user cannot be taken");
  if (setuid(0) == 0 || setgid(0) == 0) give_up(stage, "root could be had back");
}

/* First out of the way of one another, then to where they belong. */
static int place_descriptors(const int (*moves)[2], int count) {
  int high[MOST_PLACED];
  for (int at = 0; at < count; at += 1) {
    high[at] = fcntl(moves[at][0], F_DUPFD_CLOEXEC, FIRST_PASSING_FD);
    if (high[at] < 0) return -1;
  }
  /* SECURITY: T-19 — now, not at the next exec: who waits for the word would keep the pipes of other jobs open. */
  if (close_range(3, FIRST_PASSING_FD - 1, 0) != 0) return -1;
  for (int at = 0; at < count; at += 1) {
    if (dup2(high[at], moves[at][1]) < 0) return -1;
  }
  return close_range(LAST_DATA_FD + 1, ~0U, 0);
}

static void place_all(const struct request *request, const struct host *host, const struct prepared *p) {
  int moves[MOST_PLACED][2], count = 0;
  if (p->ruleset >= 0) {
    const int ruleset[2] = {p->ruleset, RULESET_FD};
    memcpy(moves[count++], ruleset, sizeof ruleset);
  }
  if (p->child_channel >= 0) {
    const int channel[2] = {p->child_channel, GATE_CHANNEL};
    memcpy(moves[count++], channel, sizeof channel);
  }
  const int standard[][2] = {{p->child_input, 0}, {p->child_output, 1}, {p->child_errors, 2}, {p->child_stage, STAGE_SOCKET}};
  for (int at = 0; at < 4; at += 1, count += 1) memcpy(moves[count], standard[at], sizeof standard[at]);
  if (request->wrapper_count > 0) {
    const int program[2] = {host->stage_program, STAGE_PROGRAM};
    memcpy(moves[count++], program, sizeof program);
  }
  if (place_descriptors((const int (*)[2])moves, count) != 0) give_up(p->child_stage, "descriptors cannot be placed");
}

/* A program begins with the signals of the one that executes it ignored that were ignored there: of ours it is this one. */
static void default_signals(void) {
  sigset_t none;
  sigemptyset(&none);
  signal(SIGPIPE, SIG_DFL);
  sigprocmask(SIG_SETMASK, &none, NULL);
}

static struct sock_filter filter_program[MAX_FILTER];

/* Out of the request, which may be wiped, and to where it is aligned. */
static void keep_filter(const struct request *request) {
  if (request->filter != NULL) memcpy(filter_program, request->filter, request->filter_length);
}

/* SECURITY: T-42, T-40 — what Landlock does not know: set-id files, keyrings, limits of others. */
static void load_filter(const struct request *request) {
  unsigned short length = (unsigned short)(request->filter_length / sizeof filter_program[0]);
  struct sock_fprog filter = {.len = length, .filter = filter_program};
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) != 0) give_up(STAGE_SOCKET, "the filter could not be loaded");
}

_Noreturn void run_child(const struct request *request, const struct host *host, const struct prepared *p) {
  default_signals();
  keep_filter(request);
  setsid();
  join_cgroups(request, p->child_stage);
  const int has_network = p->network >= 0;
  if (has_network && setns(p->network, CLONE_NEWNET) != 0) give_up(p->child_stage, "the network of its own cannot be entered");
  int needs_mounts = request->staged_count > 0 || (request->wrapper_count > 0 && host->has_shared_mounts);
  const char *fault = NULL;
  if (needs_mounts) {
    /* Nobody but a process itself may write its map, and it is not its own while it is undumpable. */
    host->forget_others();
    prctl(PR_SET_DUMPABLE, 1);
    fault = own_mounts(host->is_root);
  }
  if (fault == NULL && request->staged_count > 0) fault = stage_mounts(request, p->idmap);
  if (fault != NULL) give_up(p->child_stage, fault);
  place_all(request, host, p);
  take_identity(request, STAGE_SOCKET);
  /* After the change of user, which clears it. */
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) give_up(STAGE_SOCKET, "privileges cannot be given up");
  char *const *wrapper = request->wrapper_count > 0 ? lay_out_box(request, host, (struct own){.mounts = needs_mounts, .network = has_network}) : NULL;
  if (wrapper != NULL) {
    /* SECURITY: T-19 — no environment: bubblewrap runs outside the sandbox, and LD_PRELOAD would too. */
    static char *const nothing[] = {NULL};
    /* SECURITY: T-16, T-43 — of all that is in there, bubblewrap's init as well: a tool could have that one fork for it. */
    take_tool_turns();
    if (chdir("/") != 0) give_up(STAGE_SOCKET, "the root directory cannot be entered");
    execve(wrapper[0], wrapper, nothing);
    give_up(STAGE_SOCKET, "the sandbox program cannot be executed");
  }
  /* SECURITY: T-16 — before the filter, which refuses it: a tool would take short ones again. */
  if (request->is_gate) take_usual_turns();
  else take_tool_turns();
  if (p->ruleset >= 0 && landlock_enter(RULESET_FD) != 0) give_up(STAGE_SOCKET, "Landlock could not be entered");
  if (request->filter != NULL) load_filter(request);
  /* SECURITY: T-40 — the launcher must be able to look at us from outside, and then others with our uid are too. */
  host->forget_others();
  prctl(PR_SET_DUMPABLE, 1);
  become_tool(request, STAGE_SOCKET, 0);
}
