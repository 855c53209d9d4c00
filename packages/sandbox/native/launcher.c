/* palyra-launcher: starts tools for palyrad and nothing else. It is small so that forking is cheap, has no name in the
 * file system so that nobody else can speak to it, and ends with palyrad. See README.md for what happens to a request. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "become-tool.h"
#include "frames.h"
#include "hand-over.h"
#include "job-cgroups.h"
#include "job-end.h"
#include "job-life.h"
#include "job-steps.h"
#include "job-streams.h"
#include "job-table.h"
#include "landlock-rules.h"
#include "network.h"
#include "open-stage.h"
#include "pass-handle.h"
#include "put-away.h"
#include "short-turns.h"
#include "stage-root.h"
#include "texts.h"

#define TICK_US 100000
#define STRAYS_US 1000
/* Some seconds: who does not die then waits for a device, and has been killed. */
#define LAST_ROUNDS 3000

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
#define OUR_OWN 3
static struct pollfd polled[OUR_OWN + MAX_JOBS * PER_JOB];

static void poll_for(size_t at, int fd, short events) { polled[at] = (struct pollfd){.fd = fd, .events = events}; }

static size_t list_polled(void) {
  size_t count = 0;
  poll_for(count++, CONTROL, (short)(POLLIN | (unsent_bytes() > 0 ? POLLOUT : 0)));
  poll_for(count++, at_hand.hands, POLLIN);
  poll_for(count++, network_socket(), POLLIN);
  for (struct job *job = next_job(NULL); job != NULL; job = next_job(job)) {
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
  for (struct job *job = next_job(NULL); job != NULL; job = next_job(job)) {
    if (job->is_orphaned && !job->has_report && now + STRAYS_US < next) next = now + STRAYS_US;
    if (job->is_killed) continue;
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
  for (struct job *job = next_job(NULL); job != NULL && slot < count; job = next_job(job)) {
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
  for (struct job *job = next_job(NULL); job != NULL; job = next_job(job)) {
    if (!job->has_report) watch(job, now);
    await_strays(job);
    if (has_ended(job)) tell_end(job);
  }
}

/* SECURITY: T-16 — palyrad is gone, and nothing that it started may outlive it. */
static void end_everything(void) {
  for (struct job *job = next_job(NULL); job != NULL; job = next_job(job)) end_job(job, REASON_CANCELLED);
  for (int round = 0; round < LAST_ROUNDS && end_strays(); round += 1) usleep(STRAYS_US);
  for (struct job *job = next_job(NULL); job != NULL; job = next_job(job)) {
    /* A tool that waits for its output to be read must not keep its keeper waiting. */
    close_fd(&job->fds.output);
    close_fd(&job->fds.errors);
    put_away(job);
  }
  put_all_away();
}

/* Of a loop that could make a network: most of the time in which a sandbox is made, nobody wants anything of us. */
#define MOMENT_MS 1

static int shorter(int one, int other) { return one < 0 || (other >= 0 && other < one) ? other : one; }

static int wait_for_somebody(size_t count) {
  int timeout = shorter(poll_timeout(now_us()), quiet_ms());
  return poll(polled, count, wants_network() ? shorter(timeout, MOMENT_MS) : timeout);
}

/* Since somebody wanted something. */
static uint64_t quiet_since_us;

static int is_quiet(int ready) {
  uint64_t now = now_us();
  if (ready != 0) quiet_since_us = now;
  return now - quiet_since_us >= (uint64_t)(quiet_ms() < 0 ? 0 : quiet_ms()) * 1000;
}

static void serve(void) {
  static const struct frame_hearer hearer = {.frame = on_frame, .too_long = on_too_long};
  for (;;) {
    size_t count = list_polled();
    int ready = wait_for_somebody(count);
    if (ready < 0 && errno != EINTR) break;
    if (ready == 0 && wants_network()) make_network();
    put_told_away(is_quiet(ready));
    if (ready > 0) {
      serve_jobs(count);
      if (polled[1].revents != 0) hear_handles(&at_hand.hands);
      if (polled[2].revents != 0) hear_network();
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
  if (at_hand.host.has_only) snprintf(only, sizeof only, "only_uid=%u\nonly_gid=%u\n", at_hand.host.only_uid, at_hand.host.only_gid);
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
  if (files.rlim_cur > INT_MAX) return;
  hold_fewer((int)files.rlim_cur);
  hold_for_less_long((int)files.rlim_cur);
  if (files.rlim_cur < OUR_OWN + MAX_JOBS * PER_JOB) take_places(((int)files.rlim_cur - OUR_OWN) / PER_JOB);
}

/* SECURITY: T-19 — larger buffers are not wiped but given back, each of them. Left to itself, the allocator takes the first that
 * is freed for a reason to keep the next ones, with what was in them. */
static void give_back_large_buffers(void) {
#ifdef M_MMAP_THRESHOLD
  mallopt(M_MMAP_THRESHOLD, MAX_STAGE);
#endif
}

/* In a copy of us that others may look into: only what its own request says stays. */
static void forget_others(void) {
  wipe_frames();
  wipe_jobs();
}

static const char *protect_ourselves(void) {
  /* SECURITY: T-40 — or whoever has our uid writes into our memory and starts what it likes. */
  if (prctl(PR_SET_DUMPABLE, 0) != 0) return "cannot be made undumpable";
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) return "cannot become a subreaper";
  struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  /* SECURITY: T-17 — its user may be allowed to run before everybody else, for music as a rule: a tool that does, and loops, has the
   * processor for itself. Ours need neither, and what they start cannot take it back. */
  setrlimit(RLIMIT_RTPRIO, &none);
  setrlimit(RLIMIT_NICE, &none);
  take_descriptors();
  give_back_large_buffers();
  signal(SIGPIPE, SIG_IGN);
  /* SECURITY: T-16 — a tool that fills the machine does not keep us, nor the keepers and inits that we fork, from ending it. */
  take_short_turns();
  /* Ctrl-C in palyrad's terminal is palyrad's affair: it will tell us, or be gone. */
  setsid();
  if (has_hands()) at_hand.hands = HANDS;
  if (close_range(at_hand.hands >= 0 ? HANDS + 1 : CONTROL + 1, ~0U, 0) != 0) return "cannot close what it inherited";
  fcntl(CONTROL, F_SETFD, FD_CLOEXEC);
  if (at_hand.hands >= 0) fcntl(at_hand.hands, F_SETFD, FD_CLOEXEC);
  at_hand.host.is_root = geteuid() == 0;
  if (at_hand.host.is_root) sweep_beside_us();
  at_hand.host.forget_others = forget_others;
  struct buffer mounts = {0};
  append_file(&mounts, 0, "", "/proc/self/mountinfo");
  append(&mounts, "", 1);
  at_hand.host.has_shared_mounts = mounts.failed || memmem(mounts.bytes, mounts.length, " shared:", 8) != NULL || memmem(mounts.bytes, mounts.length, " master:", 8) != NULL;
  release(&mounts);
  at_hand.host.can_stage_root = can_stage_root(at_hand.host.is_root);
  at_hand.host.can_stage_beside = sysconf(_SC_NPROCESSORS_ONLN) > 1;
  append_namespaces(&at_hand.namespaces, FACT_HOST_NAMESPACE, "/proc/self/ns");
  at_hand.host.stage_program = open_stage();
  return at_hand.host.stage_program < 0 ? "cannot open itself" : NULL;
}

/* `--only=UID:GID`, and `--gate=UID:GID` after it. Root's are no user's, and what else is said is not understood. */
static int parse_arguments(int count, char **arguments) {
  char more;
  if (count == 1) return 1;
  at_hand.host.has_only = sscanf(arguments[1], "--only=%u:%u%c", &at_hand.host.only_uid, &at_hand.host.only_gid, &more) == 2;
  if (!at_hand.host.has_only || at_hand.host.only_uid == 0 || at_hand.host.only_gid == 0 || count > 3) return 0;
  if (count == 2) return 1;
  at_hand.host.has_gate = sscanf(arguments[2], "--gate=%u:%u%c", &at_hand.host.gate_uid, &at_hand.host.gate_gid, &more) == 2;
  return at_hand.host.has_gate && at_hand.host.gate_uid != 0 && at_hand.host.gate_gid != 0;
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
