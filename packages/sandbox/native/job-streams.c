#include "job-streams.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "frames.h"
#include "job-life.h"

/* What is left in the pipes of the dead is little, and nobody's promise to read it is waited for. */
int wants_output(const struct job *job, int fd) {
  return fd >= 0 && (job->credit > 0 || job->has_report) && unsent_bytes() < MAX_OUTGOING;
}

void take_output(struct job *job, int *fd, uint8_t kind) {
  static uint8_t chunk[MAX_CHUNK];
  size_t most = job->credit < sizeof chunk && !job->has_report ? (size_t)job->credit : sizeof chunk;
  ssize_t got = read(*fd, chunk, most);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  /* A terminal says EIO when it was hung up, by its session's end. */
  if (got <= 0) {
    if (job->has_terminal) close_fd(&job->fds.input);
    close_fd(fd);
    return;
  }
  if (job->idle_us != 0 && job->phase >= JOB_STARTING) job->idle_deadline_us = now_us() + job->idle_us;
  uint64_t left = job->output_limit - job->output_bytes;
  size_t passed = (uint64_t)got > left ? (size_t)left : (size_t)got;
  job->output_bytes += passed;
  job->credit -= passed < job->credit ? passed : job->credit;
  if (passed > 0) send_frame(kind, job->id, chunk, passed);
  /* SECURITY: T-19 — a copy of us that becomes another tool can be looked into by who has its uid. */
  explicit_bzero(chunk, (size_t)got);
  if (passed == (size_t)got) return;
  /* SECURITY: T-17 — also of one that has ended by now: what was cut off would be told as all of it. */
  if (!job->is_killed && job->reason == REASON_NONE) job->reason = REASON_OUTPUT;
  end_job(job, REASON_OUTPUT);
}

int input_fd(const struct job *job) { return job->has_terminal ? job->fds.output : job->fds.input; }

void give_input(struct job *job) {
  int fd = input_fd(job);
  size_t given = 0;
  while (fd >= 0 && given < job->input.length) {
    ssize_t written = write(fd, job->input.bytes + given, job->input.length - given);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) break;
    /* Nobody reads it any more: taken, and gone. */
    if (written < 0) given = job->input.length;
    else given += (size_t)written;
  }
  if (fd < 0) given = job->input.length;
  if (given > 0) {
    uint8_t taken[4];
    write_u32(taken, (uint32_t)given);
    send_frame(FRAME_STDIN_TAKEN, job->id, taken, sizeof taken);
    memmove(job->input.bytes, job->input.bytes + given, job->input.length - given);
    job->input.length -= given;
  }
  if (job->input_ends && job->input.length == 0 && !job->has_terminal) close_fd(&job->fds.input);
}

void on_input(struct job *job, const uint8_t *bytes, size_t length) {
  if (job->input.length + length > STDIN_WINDOW) {
    end_job(job, REASON_CANCELLED);
    return;
  }
  append(&job->input, bytes, length);
  if (job->input.failed) _exit(70);
  if (length > 0) job->last_input = bytes[length - 1];
  give_input(job);
}

/* A terminal has no end, so the key for it is pressed; twice where a line is not finished, because the first one only sends
 * that on. */
static void type_end(struct job *job) {
  struct termios modes;
  if (job->fds.output < 0 || tcgetattr(job->fds.output, &modes) != 0) return;
  uint8_t key = modes.c_cc[VEOF];
  int is_finished = job->last_input == 0 || job->last_input == '\n' || job->last_input == '\r';
  for (int times = is_finished ? 1 : 2; times > 0 && key != 0; times -= 1) append(&job->input, &key, 1);
  if (job->input.failed) _exit(70);
}

void on_input_end(struct job *job) {
  if (job->has_terminal && !job->input_ends) type_end(job);
  job->input_ends = 1;
  give_input(job);
}

/* Who may not speak is not idle: the time begins anew when it may. */
void on_credit(struct job *job, const uint8_t *payload, size_t length) {
  if (length != 4) return;
  if (job->credit == 0 && job->idle_us != 0 && job->phase >= JOB_STARTING) job->idle_deadline_us = now_us() + job->idle_us;
  job->credit += read_u32(payload);
}

void on_resize(const struct job *job, const uint8_t *payload, size_t length) {
  if (!job->has_terminal || length != 4 || job->fds.output < 0) return;
  struct winsize size = {.ws_row = read_u16(payload), .ws_col = read_u16(payload + 2)};
  ioctl(job->fds.output, TIOCSWINSZ, &size);
}
