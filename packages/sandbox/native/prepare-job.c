#include "prepare-job.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include "landlock-rules.h"
#include "network.h"
#include "staged-mounts.h"

const struct prepared NOTHING_PREPARED = {-1, -1, -1, -1, -1, -1, -1, -1, -1};

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

static int needs_network(const struct request *request) {
  for (int at = 0; at < request->wrapper_count; at += 1) {
    if (strcmp(request->wrapper[at], "--unshare-net") == 0) return 1;
  }
  return 0;
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

const char *prepare_job(const struct request *request, const struct host *host, struct prepared *p, struct started *s) {
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
  if (host->is_root && needs_network(request)) p->network = take_network();
  int rules;
  if (request->landlock_count > 0 && (p->ruleset = landlock_ruleset(request, &rules)) < 0) return "Landlock refused the rules";
  return NULL;
}

static void close_if_open(int fd) {
  if (fd >= 0) close(fd);
}

void close_prepared(const struct prepared *p) {
  close_if_open(p->child_input);
  if (p->child_output != p->child_input) close_if_open(p->child_output);
  if (p->child_errors != p->child_output) close_if_open(p->child_errors);
  close_if_open(p->child_stage);
  close_if_open(p->child_channel);
  close_if_open(p->keeper_report);
  close_if_open(p->network);
}
