#include "word.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "texts.h"

static int send_word(int socket, int file) {
  char word = 'G', control[CMSG_SPACE(sizeof file)];
  struct iovec part = {.iov_base = &word, .iov_len = 1};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  if (file >= 0) {
    memset(control, 0, sizeof control);
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof file);
    memcpy(CMSG_DATA(head), &file, sizeof file);
  }
  return sendmsg(socket, &message, MSG_NOSIGNAL) == 1 ? 0 : -1;
}

int give_word(int socket, const uint8_t *tool, size_t length) {
  int file = -1;
  /* A memory file, because it may be longer than a socket takes at once, and the launcher waits for nobody. */
  if (length > 0 && (file = memory_file("palyra-tool", tool, length)) < 0) return -1;
  int given = send_word(socket, file), why = errno;
  if (file >= 0) close(file);
  errno = why;
  return given;
}

int await_word(int socket, int *tool) {
  char word = 0, control[CMSG_SPACE(sizeof *tool)];
  struct iovec part = {.iov_base = &word, .iov_len = 1};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  ssize_t got;
  while ((got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) continue;
  *tool = -1;
  /* SECURITY: T-20 — no word, no tool: a launcher that died meanwhile has not found everything in order. */
  if (got != 1 || word != 'G') return 0;
  const struct cmsghdr *head = CMSG_FIRSTHDR(&message);
  if (head != NULL && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS && head->cmsg_len == CMSG_LEN(sizeof *tool)) {
    memcpy(tool, CMSG_DATA(head), sizeof *tool);
  }
  return 1;
}
