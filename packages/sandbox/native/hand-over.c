#include "hand-over.h"

#include <stdio.h>
#include <sys/socket.h>

#include "job-life.h"
#include "pass-handle.h"

int has_hands(void) {
  int type;
  socklen_t length = sizeof type;
  return getsockopt(HANDS, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_STREAM;
}

static int pass_end(int hands, uint32_t job, const char *end, int fd) {
  char line[128];
  int length = snprintf(line, sizeof line, "{\"cmd\":\"NODE_HANDLE\",\"type\":\"net.Socket\",\"msg\":{\"job\":%u,\"end\":\"%s\"}}\n", job, end);
  return length > 0 && (size_t)length < sizeof line ? pass_handle(hands, line, (size_t)length, fd) : -1;
}

/* SECURITY: T-19 — pipes, and not a pair of sockets: what is at their other end cannot be asked for, nor sent a descriptor.
 * What it says on its standard error still comes through us. */
const char *hand_over(struct job *job, int hands) {
  int has_both = job->fds.input >= 0 && job->fds.output >= 0 && !job->has_terminal;
  int is_passed = has_both && hands >= 0 && pass_end(hands, job->id, "input", job->fds.input) == 0 && pass_end(hands, job->id, "output", job->fds.output) == 0;
  close_fd(&job->fds.input);
  close_fd(&job->fds.output);
  /* Whether it is idle we no longer see. */
  job->idle_us = job->idle_deadline_us = 0;
  return is_passed ? NULL : "Its streams cannot be handed over.";
}
