#include "start-job.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "become-tool.h"
#include "kill-tree.h"
#include "landlock-rules.h"
#include "pass-data.h"
#include "stage-root.h"
#include "staged-mounts.h"
#include "texts.h"

/* In the process that becomes the tool: beside those of request.h, and above all of them while they change places. */
#define RULESET_FD 6
#define FIRST_PASSING_FD 200
#define MOST_PLACED 8

/* Everything that is made before the first fork. */
struct prepared {
  int child_input, child_output, child_errors, child_stage, child_channel, keeper_report;
  int idmap, ruleset;
};

static const char *open_terminal(const struct request *request, struct prepared *p, struct started *s) {
  int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
  s->output = master;
  if (master < 0 || unlockpt(master) != 0) return "a terminal cannot be made";
  struct winsize size = {.ws_row = request->rows, .ws_col = request->columns};
  ioctl(master, TIOCSWINSZ, &size);
  int slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (slave < 0) return "a terminal cannot be opened";
  p->child_input = p->child_output = p->child_errors = slave;
  s->terminal = fcntl(slave, F_DUPFD_CLOEXEC, 0);
  return s->terminal < 0 ? "a terminal cannot be kept" : NULL;
}

static const char *open_pipes(const struct request *request, struct prepared *p, struct started *s) {
  int input[2], output[2], errors[2];
  if (pipe2(output, O_CLOEXEC) != 0) return "pipes cannot be made";
  s->output = output[0];
  p->child_output = output[1];
  if (pipe2(errors, O_CLOEXEC) != 0) return "pipes cannot be made";
  s->errors = errors[0];
  p->child_errors = errors[1];
  if (request->has_stdin) {
    if (pipe2(input, O_CLOEXEC) != 0) return "pipes cannot be made";
    p->child_input = input[0];
    s->input = input[1];
    fcntl(s->input, F_SETFL, O_NONBLOCK);
  } else {
    p->child_input = open("/dev/null", O_RDONLY | O_CLOEXEC);
  }
  fcntl(s->output, F_SETFL, O_NONBLOCK);
  fcntl(s->errors, F_SETFL, O_NONBLOCK);
  return NULL;
}

/* A pipe belongs to who made it, and `echo … >/dev/stderr` opens it anew: it must be the tool's. */
static int give_away(const struct request *request, const struct prepared *p) {
  if (!request->has_identity) return 0;
  /* Without input it is /dev/null, which is everybody's. */
  int has_input = request->has_terminal || request->has_stdin;
  if (has_input && fchown(p->child_input, request->uid, request->gid) != 0) return -1;
  if (fchown(p->child_output, request->uid, request->gid) != 0) return -1;
  return fchown(p->child_errors, request->uid, request->gid);
}

static const char *open_channels(struct prepared *p, struct started *s) {
  int stage[2], report[2];
  const int yes = 1;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, stage) != 0) return "a socket pair cannot be made";
  s->stage = stage[0];
  p->child_stage = stage[1];
  fcntl(s->stage, F_SETFL, O_NONBLOCK);
  /* The kernel says who speaks: a process cannot lie about its host pid and uid. */
  if (setsockopt(s->stage, SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes) != 0) return "credentials cannot be had";
  if (pipe2(report, O_CLOEXEC) != 0) return "pipes cannot be made";
  s->report = report[0];
  p->keeper_report = report[1];
  fcntl(s->report, F_SETFL, O_NONBLOCK);
  return NULL;
}

static const char *open_gate_channel(const struct request *request, struct prepared *p, struct started *s) {
  int channel[2];
  if (!request->is_gate) return NULL;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel) != 0) return "a socket pair cannot be made";
  s->channel = channel[0];
  p->child_channel = channel[1];
  return NULL;
}

static int needs_idmap(const struct request *request) {
  for (int at = 0; at < request->staged_count; at += 1) {
    if (request->staged[at].flags & STAGED_IDMAP) return 1;
  }
  return 0;
}

/* SECURITY: T-42 — whoever speaks to a launcher that works for one user gets that user's rights and none of root's: neither
 * another user, nor places that this one could not enter, nor root's files under another name. */
static const char *beyond_only(const struct request *request, const struct host *host) {
  if (!host->has_only) return NULL;
  if (request->is_gate) {
    int is_theirs = host->has_gate && request->uid == host->gate_uid && request->gid == host->gate_gid;
    if (!is_theirs) return "this launcher opens no gate for that user";
  } else if (request->uid != host->only_uid || request->gid != host->only_gid) {
    return "this launcher works for another user";
  }
  return request->staged_count > 0 ? "this launcher hands nothing over" : NULL;
}

static const char *prepare(const struct request *request, const struct host *host, struct prepared *p, struct started *s) {
  /* SECURITY: T-42 — root never runs a tool as itself. */
  if (host->is_root && !request->has_identity) return "a tool may not be root";
  if (!host->is_root && (request->has_identity || request->staged_count > 0)) return "only root can give a tool another user";
  const char *beyond = beyond_only(request, host);
  if (beyond != NULL) return beyond;
  /* SECURITY: T-22 — without a sandbox around it, it would listen on the host's own loopback. */
  if (request->has_listener && request->wrapper_count == 0) return "a listener needs a sandbox around it";
  const char *fault = request->has_terminal ? open_terminal(request, p, s) : open_pipes(request, p, s);
  if (fault == NULL && give_away(request, p) != 0) fault = "the streams cannot be given to the tool's user";
  if (fault == NULL) fault = open_channels(p, s);
  if (fault == NULL) fault = open_gate_channel(request, p, s);
  if (fault != NULL) return fault;
  if (needs_idmap(request) && (p->idmap = idmap_namespace(request->uid, request->gid)) < 0) return "ids cannot be mapped";
  int rules;
  if (request->landlock_count > 0 && (p->ruleset = landlock_ruleset(request, &rules)) < 0) return "Landlock refused the rules";
  return NULL;
}

/* In the process that becomes the tool. */

static _Noreturn void fail(int stage, const char *what) {
  char message[256];
  int length = snprintf(message, sizeof message, "E%s: %s", what, strerror(errno));
  (void)!write(stage, message, (size_t)length);
  _exit(126);
}

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
    if (join_cgroup(request->cgroups[at]) != 0) fail(stage, "the cgroup cannot be joined");
  }
}

/* SECURITY: T-42 — before bubblewrap, which would only rename: a uid inside a namespace is what it is outside. */
static void take_identity(const struct request *request, int stage) {
  if (!request->has_identity) return;
  if (setgroups(0, NULL) != 0) fail(stage, "groups cannot be dropped");
  if (setresgid(request->gid, request->gid, request->gid) != 0) fail(stage, "the group cannot be taken");
  if (setresuid(request->uid, request->uid, request->uid) != 0) fail(stage, "the user cannot be taken");
  if (setuid(0) == 0 || setgid(0) == 0) fail(stage, "root could be had back");
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
    const int program[2] = {host->own_program, STAGE_PROGRAM};
    memcpy(moves[count++], program, sizeof program);
  }
  if (place_descriptors((const int (*)[2])moves, count) != 0) fail(p->child_stage, "descriptors cannot be placed");
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
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) != 0) fail(STAGE_SOCKET, "the filter could not be loaded");
}

/* The arguments that are left of a layout, or all of them, and what they name by descriptor. */
static char *const *pass_all(const struct request *request, const struct layout *layout) {
  if (pass_data(request, layout) != 0) fail(STAGE_SOCKET, "data cannot be passed on");
  return layout == NULL ? request->wrapper : layout->left;
}

/* The arguments for bubblewrap. What it would do by name, and look up in the table of all mounts after each, is done by
 * descriptor, with the rights that it would have had; whether it came out as planned is measured in either case. */
static char *const *lay_out_box(const struct request *request, const struct host *host, int has_own_mounts) {
  static struct layout layout;
  int is_ours = host->can_stage_root && read_layout(request, &layout);
  if (!is_ours) return pass_all(request, NULL);
  if (!has_own_mounts || host->is_root) {
    host->forget_others();
    prctl(PR_SET_DUMPABLE, 1);
    const char *fault = own_mounts(0);
    /* A new user namespace may clear it, too. */
    if (fault == NULL && prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) fault = "privileges cannot be given up";
    if (fault != NULL) fail(STAGE_SOCKET, fault);
  }
  int staged = stage_root(&layout);
  if (staged < 0) fail(STAGE_SOCKET, "the sandbox's root cannot be put together");
  return pass_all(request, staged == 0 ? NULL : &layout);
}

static _Noreturn void run_child(const struct request *request, const struct host *host, const struct prepared *p) {
  default_signals();
  keep_filter(request);
  setsid();
  join_cgroups(request, p->child_stage);
  int needs_mounts = request->staged_count > 0 || (request->wrapper_count > 0 && host->has_shared_mounts);
  const char *fault = NULL;
  if (needs_mounts) {
    /* Nobody but a process itself may write its map, and it is not its own while it is undumpable. */
    host->forget_others();
    prctl(PR_SET_DUMPABLE, 1);
    fault = own_mounts(host->is_root);
  }
  if (fault == NULL && request->staged_count > 0) fault = stage_mounts(request, p->idmap);
  if (fault != NULL) fail(p->child_stage, fault);
  place_all(request, host, p);
  take_identity(request, STAGE_SOCKET);
  /* After the change of user, which clears it. */
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) fail(STAGE_SOCKET, "privileges cannot be given up");
  char *const *wrapper = request->wrapper_count > 0 ? lay_out_box(request, host, needs_mounts) : NULL;
  if (wrapper != NULL) {
    /* SECURITY: T-19 — no environment: bubblewrap runs outside the sandbox, and LD_PRELOAD would too. */
    static char *const nothing[] = {NULL};
    if (chdir("/") != 0) fail(STAGE_SOCKET, "the root directory cannot be entered");
    execve(wrapper[0], wrapper, nothing);
    fail(STAGE_SOCKET, "the sandbox program cannot be executed");
  }
  if (p->ruleset >= 0 && landlock_enter(RULESET_FD) != 0) fail(STAGE_SOCKET, "Landlock could not be entered");
  if (request->filter != NULL) load_filter(request);
  /* SECURITY: T-40 — the launcher must be able to look at us from outside, and then others with our uid are too. */
  host->forget_others();
  prctl(PR_SET_DUMPABLE, 1);
  become_tool(request, STAGE_SOCKET, 0);
}

/* In the keeper. */

/* Before it was killed. */
static uint64_t seen_user_us, seen_system_us;

static uint64_t larger(uint64_t one, uint64_t other) { return one > other ? one : other; }

static void report_end(int fd, int wait_status) {
  struct rusage usage;
  struct keeper_report report;
  memset(&report, 0, sizeof report);
  getrusage(RUSAGE_CHILDREN, &usage);
  report.wait_status = wait_status;
  report.user_us = larger(seen_user_us, (uint64_t)usage.ru_utime.tv_sec * 1000000 + (uint64_t)usage.ru_utime.tv_usec);
  report.system_us = larger(seen_system_us, (uint64_t)usage.ru_stime.tv_sec * 1000000 + (uint64_t)usage.ru_stime.tv_usec);
  report.max_rss_bytes = (uint64_t)usage.ru_maxrss * 1024;
  (void)!write(fd, &report, sizeof report);
}

/* Until the first child is gone or the launcher says so (or died): then everything else goes too. */
static int await_end(pid_t child, const sigset_t *awaited) {
  for (;;) {
    int status;
    pid_t reaped;
    while ((reaped = waitpid(-1, &status, WNOHANG)) > 0) {
      if (reaped == child) return status;
    }
    siginfo_t info;
    if (sigwaitinfo(awaited, &info) != SIGTERM) continue;
    cpu_of_descendants(&seen_user_us, &seen_system_us);
    kill(child, SIGKILL);
    if (waitpid(child, &status, 0) == child) return status;
  }
}

static _Noreturn void keep(const struct request *request, const struct host *host, const struct prepared *p) {
  sigset_t awaited;
  sigemptyset(&awaited);
  sigaddset(&awaited, SIGCHLD);
  sigaddset(&awaited, SIGTERM);
  sigprocmask(SIG_SETMASK, &awaited, NULL);
  pid_t launcher = getppid();
  setsid();
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  /* SECURITY: T-16 — a launcher that is killed takes its tools with it; SIGTERM, because the tree must be killed first. */
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != launcher) _exit(1);
  pid_t child = fork();
  if (child == 0) run_child(request, host, p);
  /* In the place of the launcher's own socket, which needs no free descriptor: a report must never go there. */
  const int report = 3;
  if (dup2(p->keeper_report, report) != report) _exit(1);
  close_range(0, 2, 0);
  close_range(4, ~0U, 0);
  if (child < 0) _exit(1);
  int status = await_end(child, &awaited);
  kill_tree(request->wrapper_count > 0);
  report_end(report, status);
  _exit(0);
}

static void close_if_open(int fd) {
  if (fd >= 0) close(fd);
}

static void close_prepared(const struct prepared *p) {
  close_if_open(p->child_input);
  if (p->child_output != p->child_input) close_if_open(p->child_output);
  if (p->child_errors != p->child_output) close_if_open(p->child_errors);
  close_if_open(p->child_stage);
  close_if_open(p->child_channel);
  close_if_open(p->keeper_report);
}

const struct started NOTHING_STARTED = {.keeper = -1, .input = -1, .output = -1, .errors = -1, .terminal = -1, .stage = -1, .report = -1, .channel = -1};

static void close_started(struct started *s) {
  close_if_open(s->input);
  close_if_open(s->output);
  close_if_open(s->errors);
  close_if_open(s->terminal);
  close_if_open(s->stage);
  close_if_open(s->report);
  close_if_open(s->channel);
  *s = NOTHING_STARTED;
}

const char *start_job(const struct request *request, const struct host *host, struct started *started) {
  struct prepared p = {-1, -1, -1, -1, -1, -1, -1, -1};
  *started = NOTHING_STARTED;
  errno = 0;
  const char *fault = prepare(request, host, &p, started);
  if (fault == NULL) {
    started->keeper = fork();
    if (started->keeper == 0) keep(request, host, &p);
    if (started->keeper < 0) fault = "no process can be made";
  }
  int why = errno;
  close_prepared(&p);
  if (fault != NULL) close_started(started);
  errno = why;
  return fault;
}
