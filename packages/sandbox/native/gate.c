#include "gate.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "job-life.h"

static int is_open(const struct job *gate) {
  return gate != NULL && gate->is_gate && gate->fds.channel >= 0 && gate->phase >= JOB_STARTING && !gate->is_killed && !gate->has_report;
}

/* One line and one descriptor: the kernel never glues two such messages together, and Node takes one handle for each read. */
static int send_handle(int channel, const char *line, size_t length, int handle) {
  char control[CMSG_SPACE(sizeof handle)];
  struct iovec part = {.iov_base = (void *)(uintptr_t)line, .iov_len = length};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  memset(control, 0, sizeof control);
  struct cmsghdr *head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof handle);
  memcpy(CMSG_DATA(head), &handle, sizeof handle);
  ssize_t sent;
  while ((sent = sendmsg(channel, &message, MSG_NOSIGNAL | MSG_DONTWAIT)) < 0 && errno == EINTR) continue;
  return sent == (ssize_t)length ? 0 : -1;
}

const char *pass_listener(struct job *gate, int listener, const char *label) {
  /* SECURITY: T-22 — a number that is no gate's, or of one that is closed, gets nothing, and the tool does not run. */
  if (!is_open(gate)) return "The gate is closed.";
  /* SECURITY: T-22 — the label is of letters, digits and `_.-` (request.c): it ends where it ends. */
  char line[96 + MAX_LABEL];
  int length = snprintf(line, sizeof line, "{\"cmd\":\"NODE_HANDLE\",\"type\":\"net.Server\",\"msg\":{\"label\":\"%s\"}}\n", label);
  if (length <= 0 || (size_t)length >= sizeof line) return "The gate takes no listener.";
  return send_handle(gate->fds.channel, line, (size_t)length, listener) == 0 ? NULL : "The gate takes no listener.";
}

void hear_gate(struct job *gate) {
  char bytes[4096];
  ssize_t got = recv(gate->fds.channel, bytes, sizeof bytes, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) close_fd(&gate->fds.channel);
}
