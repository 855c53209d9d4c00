#include "job-steps.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "become-tool.h"
#include "frames.h"
#include "gate.h"
#include "hand-over.h"
#include "job-cgroups.h"
#include "job-life.h"
#include "job-table.h"
#include "landlock-rules.h"
#include "listener.h"
#include "outside-facts.h"
#include "pass-signal.h"
#include "pidfd-info.h"
#include "put-away.h"
#include "texts.h"
#include "word.h"

struct at_hand at_hand = {.hands = -1};

static struct request request;

/* The least that there is to make a sandbox, on a machine on which that takes long. */
#define PREPARING_US 30000000

static const char *begin(struct job *job) {
  const char *fault = make_cgroups(&request, job);
  if (fault != NULL) return fault;
  if (request.landlock_count > 0 && landlock_ruleset(&request, &job->landlock_rules) < 0) return "Landlock refused the rules";
  return start_job(&request, &at_hand.host, &job->fds);
}

void on_start(uint32_t id, const uint8_t *payload, size_t length) {
  struct job *job = place_for_one();
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
  job->tool_pidfd = job->init_pidfd = job->mounts = job->outer_mounts = job->listener = -1;
  job->is_wrapped = request.wrapper_count > 0;
  job->has_terminal = request.has_terminal;
  job->has_listener = request.has_listener;
  job->is_gate = request.is_gate;
  fault = begin(job);
  if (fault != NULL) {
    send_failure(id, fault, errno);
    remove_cgroups(job);
    forget_job(job);
    release_request(&request);
    return;
  }
  const char *unlimited = limit_cgroups(&request, job);
  if (unlimited != NULL) {
    job->failure_errno = errno;
    refuse_job(job, unlimited);
  }
  open_counters(job);
  job->phase = JOB_PREPARING;
  job->is_later = request.is_later;
  job->wall_us = request.wall_ms * 1000;
  job->idle_us = request.idle_ms * 1000;
  start_clock(job);
  /* What of it comes before the word is no time of the tool, however short that is; it only ends at some time. */
  job->idle_deadline_us = 0;
  if (job->is_later) job->wall_deadline_us = job->started_us + request.later_ms * 1000;
  else if (job->wall_us != 0 && job->wall_us < PREPARING_US) job->wall_deadline_us = job->started_us + PREPARING_US;
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
  if (job->tool_pidfd < 0) job->tool_pidfd = hold_process(job->tool);
  append_outside_facts(&facts, job);
  if (job->listener >= 0) {
    char text[96];
    append_item(&facts, FACT_LISTENER, text, describe_listener(job->listener, text, sizeof text));
  }
  append(&facts, at_hand.namespaces.bytes, at_hand.namespaces.length);
  if (facts.failed) _exit(70);
  send_frame(FRAME_FACTS, job->id, facts.bytes, facts.length);
  release(&facts);
  /* SECURITY: T-40 — palyrad judges what was read by its number: signals go to that process, or to nobody. */
  if (!is_held(job->tool_pidfd)) {
    close_fd(&job->tool_pidfd);
    close_fd(&job->init_pidfd);
  }
  if (job->is_later) hold_mounts(job);
  /* It waits for its word, which may wait for a disk: that is no time of the tool. */
  else job->wall_deadline_us = job->idle_deadline_us = 0;
  job->phase = JOB_MEASURED;
}

/* One message, said whole or not at all; what is shorter is none of ours, and still a fault. */
static void take_fault(struct job *job) {
  const int is_whole = job->said.length > FAULT_HEADER;
  const uint8_t *sentence = is_whole ? job->said.bytes + FAULT_HEADER : (const uint8_t *)"it ended without a word";
  size_t length = is_whole ? job->said.length - FAULT_HEADER : strlen((const char *)sentence);
  if (length >= sizeof job->failure) length = sizeof job->failure - 1;
  memcpy(job->failure, sentence, length);
  job->failure[length] = 0;
  job->failure_errno = is_whole ? (int)read_u32(job->said.bytes + 1) : 0;
}

static void on_stage_end(struct job *job) {
  close_fd(&job->fds.stage);
  if (job->said.length > 0 && job->said.bytes[0] == 'E') {
    /* Why we are ending it counts, and not what it says of being ended. */
    if (job->failure[0] == 0) take_fault(job);
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

void hear_stage(struct job *job) {
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
  size_t skipped = 0;
  /* Of one that becomes a tool, what it says before its facts. */
  const int is_first = job->phase == JOB_PREPARING && job->said.length == 0;
  if (is_first && bytes[0] == STAGE_BRINGS) skipped += 1;
  const int is_here = is_first && skipped < (size_t)got && bytes[skipped] == STAGE_HERE;
  if (is_here) skipped += 1;
  append(&job->said, bytes + skipped, (size_t)got - skipped);
  if (job->said.failed) _exit(70);
  if (is_here && job->outside.length == 0) {
    job->tool_pidfd = hold_process(job->tool);
    look_from_outside(job);
  }
  if (job->phase != JOB_PREPARING || job->said.length < 5 || job->said.bytes[0] != 'F') return;
  /* SECURITY: T-20 — one that is being ended may fork no more, which is no fact about what was enforced. */
  if (job->is_killed) return;
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
  if (fault == NULL && request.is_handed_over) fault = hand_over(job, at_hand.hands);
  /* Who cannot be told has not been started, and is never taken for it. */
  if (fault == NULL && give_word(job->fds.stage, request.for_stage.bytes, request.for_stage.length) != 0) fault = "The process that waits for its word is gone.";
  release_request(&request);
  return fault;
}

void on_go(struct job *job, const uint8_t *payload, size_t length) {
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
  start_clock(job);
}

/* What is in the tool's place before the word is ours, and would be ended by most of them. */
void on_signal(struct job *job, const uint8_t *payload, size_t length) {
  int number = parse_signal(payload, length);
  if (number == 0) {
    send_failure(job->id, "A signal is not one that is passed on.", 0);
    end_job(job, REASON_CANCELLED);
    return;
  }
  if (job->phase >= JOB_STARTING) pass_signal(job, number);
}
