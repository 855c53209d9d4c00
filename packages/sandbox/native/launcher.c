/* palyra-launcher: starts tools for palyrad and nothing else. It is small so that forking is cheap, has no name in the
 * file system so that nobody else can speak to it, and ends with palyrad. See README.md for what happens to a request. */
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "become-tool.h"
#include "end-report.h"
#include "frames.h"
#include "gate.h"
#include "hand-over.h"
#include "job-cgroups.h"
#include "job-life.h"
#include "job-streams.h"
#include "landlock-rules.h"
#include "listener.h"
#include "outside-facts.h"
#include "pass-handle.h"
#include "pass-signal.h"
#include "stage-root.h"
#include "texts.h"
#include "word.h"

#define MAX_JOBS 256
#define TICK_US 100000

static struct job jobs[MAX_JOBS];
static int most_jobs = MAX_JOBS;
static struct host host;
static int hands = -1; /* where palyrad takes descriptors */
static struct buffer own_namespaces; /* as facts; they do not change */
static struct request request;

/* The life of a job. */

static struct job *find_job(uint32_t id) {
  for (int at = 0; at < MAX_JOBS; at += 1) {
    if (jobs[at].phase != JOB_FREE && jobs[at].id == id) return &jobs[at];
  }
  return NULL;
}

static struct job *free_place(void) {
  for (int at = 0; at < most_jobs; at += 1) {
    if (jobs[at].phase == JOB_FREE) return &jobs[at];
  }
  return NULL;
}

static const char *begin(struct job *job) {
  const char *fault = make_cgroups(&request, job);
  if (fault != NULL) return fault;
  if (request.landlock_count > 0 && landlock_ruleset(&request, &job->landlock_rules) < 0) return "Landlock refused the rules";
  return start_job(&request, &host, &job->fds);
}

static void on_start(uint32_t id, const uint8_t *payload, size_t length) {
  struct job *job = free_place();
  const char *fault = parse_request(payload, length, &request);
  if (fault == NULL && job == NULL) fault = "Too many commands are running.";
  if (fault == NULL && find_job(id) != NULL) fault = "There is a job of this number.";
  if (fault != NULL) {
    send_failure(id, fault, 0);
    release_request(&request);
    return;
  }
  memset(job, 0, sizeof *job);
  job->fds = NOTHING_STARTED;
  job->id = id;
  job->tool_pidfd = job->mounts = job->outer_mounts = job->listener = -1;
  job->is_wrapped = request.wrapper_count > 0;
  job->has_terminal = request.has_terminal;
  job->has_listener = request.has_listener;
  job->is_gate = request.is_gate;
  fault = begin(job);
  if (fault != NULL) {
    send_failure(id, fault, errno);
    forget_job(job);
    release_request(&request);
    return;
  }
  job->phase = JOB_PREPARING;
  job->is_later = request.is_later;
  job->wall_us = request.wall_ms * 1000;
  job->idle_us = request.idle_ms * 1000;
  start_clock(job);
  if (job->is_later) {
    job->wall_deadline_us = job->started_us + request.later_ms * 1000;
    job->idle_deadline_us = 0;
  }
  /* What a gate says is between it and palyrad, for as long as both live. */
  job->output_limit = request.is_gate ? UINT64_MAX : request.output_bytes;
  job->cpu_limit_ms = request.cpu_ms;
  job->cpu_counter = request.cpu_counter == NULL ? NULL : strdup(request.cpu_counter);
  job->cpu_counter_unit = request.cpu_counter_unit;
  release_request(&request);
}

static void tell_facts(struct job *job) {
  struct buffer facts = {0};
  append(&facts, job->said.bytes + 5, job->said.length - 5);
  job->tool_pidfd = hold_tool(job->tool);
  append_outside_facts(&facts, job);
  if (job->listener >= 0) {
    char text[96];
    append_item(&facts, FACT_LISTENER, text, describe_listener(job->listener, text, sizeof text));
  }
  append(&facts, own_namespaces.bytes, own_namespaces.length);
  if (facts.failed) _exit(70);
  send_frame(FRAME_FACTS, job->id, facts.bytes, facts.length);
  release(&facts);
  /* SECURITY: T-40 — palyrad judges what was read by its number: signals go to that process, or to nobody. */
  if (!is_held(job->tool_pidfd)) close_fd(&job->tool_pidfd);
  if (job->is_later) hold_mounts(job);
  job->phase = JOB_MEASURED;
}

static void on_stage_end(struct job *job) {
  close_fd(&job->fds.stage);
  if (job->said.length > 0 && job->said.bytes[0] == 'E') {
    size_t length = job->said.length - 1;
    if (length >= sizeof job->failure) length = sizeof job->failure - 1;
    memcpy(job->failure, job->said.bytes + 1, length);
    job->failure[length] = 0;
  } else if (job->phase == JOB_STARTING) {
    job->phase = JOB_RUNNING;
  }
}

/* Who speaks, and what it hands over: at most once, and never to a tool. */
static void take_ancillary(struct job *job, const struct cmsghdr *head) {
  if (head->cmsg_level != SOL_SOCKET) return;
  if (head->cmsg_type == SCM_CREDENTIALS) {
    struct ucred speaker;
    memcpy(&speaker, CMSG_DATA(head), sizeof speaker);
    job->tool = speaker.pid;
  }
  if (head->cmsg_type != SCM_RIGHTS) return;
  size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
  for (size_t at = 0; at < count; at += 1) {
    int fd;
    memcpy(&fd, CMSG_DATA(head) + at * sizeof fd, sizeof fd);
    if (job->has_listener && job->listener < 0) job->listener = fd;
    else if (job->tmpfs_count < MAX_TMPFS) job->tmpfs[job->tmpfs_count++] = fd;
    else close(fd);
  }
}

static void hear_stage(struct job *job) {
  char bytes[16384], control[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE((1 + MAX_TMPFS) * sizeof(int))];
  struct iovec part = {.iov_base = bytes, .iov_len = sizeof bytes};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  ssize_t got = recvmsg(job->fds.stage, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    on_stage_end(job);
    return;
  }
  for (struct cmsghdr *head = CMSG_FIRSTHDR(&message); head != NULL; head = CMSG_NXTHDR(&message, head)) {
    take_ancillary(job, head);
  }
  if (job->said.length + (size_t)got > MAX_STAGE) {
    end_job(job, REASON_CANCELLED);
    return;
  }
  append(&job->said, bytes, (size_t)got);
  if (job->said.failed) _exit(70);
  if (job->phase != JOB_PREPARING || job->said.bytes[0] != 'F' || job->said.length < 5) return;
  if (job->said.length - 5 >= read_u32(job->said.bytes + 1)) tell_facts(job);
}

/* NULL, or why there is none. From here on it is the gate's alone: should that end, connections are refused and do not hang. */
static const char *open_way_out(struct job *job) {
  if (request.has_way_out != job->has_listener) return request.has_way_out ? "A way out was not planned." : "The word names no way out.";
  if (!job->has_listener) return NULL;
  const char *fault = pass_listener(find_job(request.gate), job->listener, request.label);
  close_fd(&job->listener);
  return fault;
}

/* NULL, or why it is no word for this job. */
static const char *take_word(struct job *job, const uint8_t *payload, size_t length) {
  const char *fault = parse_word(payload, length, job->is_later, &request);
  if (fault == NULL) fault = open_way_out(job);
  if (fault == NULL && job->is_later && !request.has_stdin) close_fd(&job->fds.input);
  if (fault == NULL && request.is_handed_over) fault = hand_over(job, hands);
  /* Who cannot be told has not been started, and is never taken for it. */
  if (fault == NULL && give_word(job->fds.stage, request.for_stage.bytes, request.for_stage.length) != 0) fault = "The process that waits for its word is gone.";
  release_request(&request);
  return fault;
}

static void on_go(struct job *job, const uint8_t *payload, size_t length) {
  if (job->phase != JOB_MEASURED || job->fds.stage < 0 || job->is_killed) return;
  const char *fault = take_word(job, payload, length);
  if (fault != NULL) {
    refuse_job(job, fault);
    return;
  }
  job->phase = JOB_STARTING;
  hold_mounts(job);
  release(&job->said);
  /* Whoever waited for a tool has not run one yet. */
  if (job->is_later) start_clock(job);
}

/* What is in the tool's place before the word is ours, and would be ended by most of them. */
static void on_signal(struct job *job, const uint8_t *payload, size_t length) {
  int number = parse_signal(payload, length);
  if (number == 0) {
    send_failure(job->id, "A signal is not one that is passed on.", 0);
    end_job(job, REASON_CANCELLED);
    return;
  }
  if (job->phase >= JOB_STARTING) pass_signal(job, number);
}

/* The end. */

static void tell_end(struct job *job) {
  if (job->failure[0] != 0 && job->reason == REASON_NONE) {
    send_failure(job->id, job->failure, 0);
  } else {
    struct buffer ended = {0};
    append_end(&ended, job, now_us() - job->started_us);
    if (ended.failed) _exit(70);
    send_frame(FRAME_ENDED, job->id, ended.bytes, ended.length);
    release(&ended);
  }
  /* Nothing of the tool is left, and only of one that was started ahead are its keeper and its cgroups; what we hold of its
   * mounts is put away when it was told. Should palyrad be gone, the loop sees it next. */
  if (job->is_later) (void)flush_frames();
  waitpid(job->fds.keeper, NULL, 0);
  remove_cgroups(job);
  (void)flush_frames();
  forget_job(job);
}

static int is_keeper(pid_t pid) {
  for (int at = 0; at < MAX_JOBS; at += 1) {
    if (jobs[at].phase != JOB_FREE && jobs[at].fds.keeper == pid) return 1;
  }
  return 0;
}

/* SECURITY: T-16 — a keeper that was killed leaves its tree to us, the next subreaper: all that is no keeper. */
static void end_strays(void) {
  for (int attempt = 0; attempt < 200; attempt += 1) {
    char list[4096];
    int strays = 0;
    if (read_text("/proc/thread-self/children", list, sizeof list) < 0) return;
    char *rest = list;
    for (long pid; (pid = strtol(rest, &rest, 10)) > 1;) {
      if (is_keeper((pid_t)pid)) continue;
      strays += 1;
      kill((pid_t)pid, SIGKILL);
      waitpid((pid_t)pid, NULL, WNOHANG);
    }
    if (strays == 0) return;
    usleep(1000);
  }
}

static void hear_keeper(struct job *job) {
  ssize_t got = read(job->fds.report, &job->report, sizeof job->report);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  /* Killed before it could write: as if the tool had been. */
  if (got != (ssize_t)sizeof job->report) {
    job->report.wait_status = SIGKILL;
    end_strays();
  }
  job->has_report = 1;
  close_fd(&job->fds.report);
}

/* After everybody is dead, what they wrote is still in the pipes, and palyrad may not have asked for it yet. */
static int has_ended(struct job *job) {
  if (!job->has_report) return 0;
  while (job->fds.stage >= 0) {
    hear_stage(job);
    if (job->fds.stage < 0) break;
    struct pollfd more = {.fd = job->fds.stage, .events = POLLIN};
    if (poll(&more, 1, 0) <= 0) break;
  }
  if (job->reason == REASON_OUTPUT) return 1;
  int *const streams[] = {&job->fds.output, &job->fds.errors};
  for (int at = 0; at < 2; at += 1) {
    if (*streams[at] < 0) continue;
    struct pollfd more = {.fd = *streams[at], .events = POLLIN};
    if (poll(&more, 1, 0) > 0 && (more.revents & POLLIN)) return 0;
  }
  return 1;
}

static void watch(struct job *job, uint64_t now) {
  if (job->wall_deadline_us != 0 && now >= job->wall_deadline_us) end_job(job, REASON_WALL);
  if (job->idle_deadline_us != 0 && now >= job->idle_deadline_us && job->credit > 0) end_job(job, REASON_IDLE);
  if (job->cpu_limit_ms != 0 && job->phase == JOB_RUNNING && cpu_ms(job) >= job->cpu_limit_ms) end_job(job, REASON_CPU);
}

/* Hearing palyrad. */

static void on_frame(uint8_t kind, uint32_t id, const uint8_t *payload, size_t length) {
  if (kind == FRAME_START) {
    on_start(id, payload, length);
    return;
  }
  struct job *job = find_job(id);
  /* It has ended meanwhile; palyrad will read that in a moment. */
  if (job == NULL) return;
  switch (kind) {
    case FRAME_GO: on_go(job, payload, length); break;
    case FRAME_KILL: end_job(job, REASON_CANCELLED); break;
    case FRAME_STDIN: on_input(job, payload, length); break;
    case FRAME_STDIN_END: on_input_end(job); break;
    case FRAME_CREDIT: on_credit(job, payload, length); break;
    case FRAME_RESIZE: on_resize(job, payload, length); break;
    case FRAME_SIGNAL: on_signal(job, payload, length); break;
    default: send_failure(id, "A frame is of an unknown kind.", 0); end_job(job, REASON_CANCELLED);
  }
}

static void on_too_long(uint32_t id) {
  struct job *job = find_job(id);
  if (job != NULL) end_job(job, REASON_CANCELLED);
  send_failure(id, "A frame is too long.", 0);
}

/* The loop. */

#define PER_JOB 6
#define OUR_OWN 2
static struct pollfd polled[OUR_OWN + MAX_JOBS * PER_JOB];

static void poll_for(size_t at, int fd, short events) { polled[at] = (struct pollfd){.fd = fd, .events = events}; }

static size_t list_polled(void) {
  size_t count = 0;
  poll_for(count++, CONTROL, (short)(POLLIN | (unsent_bytes() > 0 ? POLLOUT : 0)));
  poll_for(count++, hands, POLLIN);
  for (int at = 0; at < MAX_JOBS; at += 1) {
    struct job *job = &jobs[at];
    if (job->phase == JOB_FREE) continue;
    poll_for(count++, job->fds.stage, POLLIN);
    poll_for(count++, job->fds.report, POLLIN);
    poll_for(count++, wants_output(job, job->fds.output) ? job->fds.output : -1, POLLIN);
    poll_for(count++, wants_output(job, job->fds.errors) ? job->fds.errors : -1, POLLIN);
    poll_for(count++, job->input.length > 0 ? input_fd(job) : -1, POLLOUT);
    poll_for(count++, job->fds.channel, POLLIN);
  }
  return count;
}

static int poll_timeout(uint64_t now) {
  uint64_t next = UINT64_MAX;
  for (int at = 0; at < MAX_JOBS; at += 1) {
    const struct job *job = &jobs[at];
    if (job->phase == JOB_FREE || job->is_killed) continue;
    if (job->wall_deadline_us != 0 && job->wall_deadline_us < next) next = job->wall_deadline_us;
    if (job->idle_deadline_us != 0 && job->credit > 0 && job->idle_deadline_us < next) next = job->idle_deadline_us;
    /* Who only waits uses none. */
    if (job->cpu_limit_ms != 0 && job->phase == JOB_RUNNING && now + TICK_US < next) next = now + TICK_US;
  }
  if (next == UINT64_MAX) return -1;
  uint64_t wait = next <= now ? 0 : (next - now) / 1000 + 1;
  return wait > 60000 ? 60000 : (int)wait;
}

static void serve_jobs(size_t count) {
  size_t slot = OUR_OWN;
  for (int at = 0; at < MAX_JOBS && slot < count; at += 1) {
    struct job *job = &jobs[at];
    if (job->phase == JOB_FREE) continue;
    const struct pollfd *of = &polled[slot];
    slot += PER_JOB;
    if (of[0].revents != 0 && job->fds.stage >= 0) hear_stage(job);
    if (of[1].revents != 0 && job->fds.report >= 0) hear_keeper(job);
    if (of[2].revents != 0 && job->fds.output >= 0) take_output(job, &job->fds.output, FRAME_STDOUT);
    if (of[3].revents != 0 && job->fds.errors >= 0 && (job->credit > 0 || job->has_report)) take_output(job, &job->fds.errors, FRAME_STDERR);
    if (of[4].revents != 0) give_input(job);
    if (of[5].revents != 0 && job->fds.channel >= 0) hear_handles(&job->fds.channel);
  }
}

static void settle_jobs(void) {
  uint64_t now = now_us();
  for (int at = 0; at < MAX_JOBS; at += 1) {
    struct job *job = &jobs[at];
    if (job->phase == JOB_FREE) continue;
    if (!job->has_report) watch(job, now);
    if (has_ended(job)) tell_end(job);
  }
}

/* SECURITY: T-16 — palyrad is gone, and nothing that it started may outlive it. */
static void end_everything(void) {
  for (int at = 0; at < MAX_JOBS; at += 1) {
    if (jobs[at].phase != JOB_FREE) end_job(&jobs[at], REASON_CANCELLED);
  }
  for (int at = 0; at < MAX_JOBS; at += 1) {
    if (jobs[at].phase == JOB_FREE) continue;
    /* A tool that waits for its output to be read must not keep its keeper waiting. */
    close_fd(&jobs[at].fds.output);
    close_fd(&jobs[at].fds.errors);
    waitpid(jobs[at].fds.keeper, NULL, 0);
    forget_job(&jobs[at]);
  }
}

static void serve(void) {
  static const struct frame_hearer hearer = {.frame = on_frame, .too_long = on_too_long};
  for (;;) {
    uint64_t now = now_us();
    size_t count = list_polled();
    int ready = poll(polled, count, poll_timeout(now));
    if (ready < 0 && errno != EINTR) break;
    if (ready > 0) {
      serve_jobs(count);
      if (polled[1].revents != 0) hear_handles(&hands);
      if (polled[0].revents & (POLLIN | POLLHUP | POLLERR) && hear_frames(&hearer) != 0) break;
    }
    settle_jobs();
    if (flush_frames() != 0) break;
  }
  end_everything();
}

/* Filters that we are under ourselves, in a container for example: a tool's own must come on top of them. */
static int own_filters(void) {
  char status[4096];
  if (read_text("/proc/self/status", status, sizeof status) <= 0) return 0;
  const char *line = strstr(status, "\nSeccomp_filters:");
  return line == NULL ? 0 : atoi(line + strlen("\nSeccomp_filters:"));
}

static void say_hello(void) {
  char text[512], stat[512], only[64] = "";
  unsigned long long ticks = 0;
  if (read_text("/proc/self/stat", stat, sizeof stat) > 0) {
    const char *after = strrchr(stat, ')');
    if (after != NULL) sscanf(after + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", &ticks);
  }
  if (host.has_only) snprintf(only, sizeof only, "only_uid=%u\nonly_gid=%u\n", host.only_uid, host.only_gid);
  int length = snprintf(text, sizeof text, "version=%d\npid=%d\nstart=%llu\nuid=%u\ngid=%u\nlandlock=%d\nfilters=%d\n%s", WIRE_VERSION,
    getpid(), ticks, geteuid(), getegid(), landlock_version(), own_filters(), only);
  send_frame(FRAME_HELLO, 0, text, (size_t)length);
}

/* poll refuses a longer list than there may be descriptors, and then nothing would be watched any more. */
static void take_descriptors(void) {
  struct rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  if (files.rlim_cur < OUR_OWN + MAX_JOBS * PER_JOB) most_jobs = ((int)files.rlim_cur - OUR_OWN) / PER_JOB;
}

/* In a copy of us that others may look into: only what its own request says stays. */
static void forget_others(void) {
  wipe_frames();
  for (int at = 0; at < MAX_JOBS; at += 1) {
    if (jobs[at].input.bytes != NULL) explicit_bzero(jobs[at].input.bytes, jobs[at].input.room);
    if (jobs[at].said.bytes != NULL) explicit_bzero(jobs[at].said.bytes, jobs[at].said.room);
  }
}

static const char *protect_ourselves(void) {
  /* SECURITY: T-40 — or whoever has our uid writes into our memory and starts what it likes. */
  if (prctl(PR_SET_DUMPABLE, 0) != 0) return "cannot be made undumpable";
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) return "cannot become a subreaper";
  struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  take_descriptors();
  signal(SIGPIPE, SIG_IGN);
  /* Ctrl-C in palyrad's terminal is palyrad's affair: it will tell us, or be gone. */
  setsid();
  if (has_hands()) hands = HANDS;
  if (close_range(hands >= 0 ? HANDS + 1 : CONTROL + 1, ~0U, 0) != 0) return "cannot close what it inherited";
  fcntl(CONTROL, F_SETFD, FD_CLOEXEC);
  if (hands >= 0) fcntl(hands, F_SETFD, FD_CLOEXEC);
  host.is_root = geteuid() == 0;
  host.forget_others = forget_others;
  struct buffer mounts = {0};
  append_file(&mounts, 0, "", "/proc/self/mountinfo");
  append(&mounts, "", 1);
  host.has_shared_mounts = mounts.failed || memmem(mounts.bytes, mounts.length, " shared:", 8) != NULL || memmem(mounts.bytes, mounts.length, " master:", 8) != NULL;
  release(&mounts);
  host.can_stage_root = can_stage_root(host.is_root);
  append_namespaces(&own_namespaces, FACT_HOST_NAMESPACE, "/proc/self/ns");
  host.own_program = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  return host.own_program < 0 ? "cannot open itself" : NULL;
}

/* `--only=UID:GID`, and `--gate=UID:GID` after it. Root's are no user's, and what else is said is not understood. */
static int parse_arguments(int count, char **arguments) {
  char more;
  if (count == 1) return 1;
  host.has_only = sscanf(arguments[1], "--only=%u:%u%c", &host.only_uid, &host.only_gid, &more) == 2;
  if (!host.has_only || host.only_uid == 0 || host.only_gid == 0 || count > 3) return 0;
  if (count == 2) return 1;
  host.has_gate = sscanf(arguments[2], "--gate=%u:%u%c", &host.gate_uid, &host.gate_gid, &more) == 2;
  return host.has_gate && host.gate_uid != 0 && host.gate_gid != 0;
}

int main(int count, char **arguments) {
  if (count == 2 && strcmp(arguments[1], "stage") == 0) return stage_main();
  int type;
  socklen_t length = sizeof type;
  if (!parse_arguments(count, arguments) || getsockopt(CONTROL, SOL_SOCKET, SO_TYPE, &type, &length) != 0 || type != SOCK_STREAM) {
    fputs("palyra-launcher is started by palyrad, with a socket as descriptor 3.\n", stderr);
    return 64;
  }
  const char *fault = protect_ourselves();
  if (fault != NULL) {
    fprintf(stderr, "palyra-launcher %s: %s\n", fault, strerror(errno));
    return 71;
  }
  say_hello();
  serve();
  return 0;
}
