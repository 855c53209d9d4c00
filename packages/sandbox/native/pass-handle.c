#include "pass-handle.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "job-life.h"

/* One line and one descriptor: the kernel never glues two such messages together, and Node takes one handle for each read. */
int pass_handle(int channel, const char *line, size_t length, int handle) {
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

void hear_handles(int *channel) {
  char bytes[4096];
  ssize_t got = recv(*channel, bytes, sizeof bytes, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) close_fd(channel);
}
