#include "become-tool.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "listener.h"
#include "texts.h"
#include "word.h"

_Noreturn void give_up(int socket, const char *what) {
  uint8_t message[256] = {'E'};
  write_u32(message + 1, (uint32_t)errno);
  size_t length = strlen(what), room = sizeof message - FAULT_HEADER;
  if (length > room) length = room;
  memcpy(message + FAULT_HEADER, what, length);
  (void)write_all(socket, message, FAULT_HEADER + length);
  _exit(126);
}

static void set_limits(const struct request *request, int socket) {
  for (int at = 0; at < request->rlimit_count; at += 1) {
    const struct rlimit_request *limit = &request->rlimits[at];
    struct rlimit value = {.rlim_cur = limit->soft, .rlim_max = limit->hard};
    if (setrlimit((__rlimit_resource_t)limit->resource, &value) != 0) give_up(socket, "a limit could not be set");
  }
}

/* SECURITY: T-43 — a tool can write into the memory of bubblewrap's init; what it makes of it has the tool's limits then. We
 * have init's user, and it is too late for it to object. */
static void limit_init(const struct request *request, int socket) {
  for (int at = 0; at < request->rlimit_count; at += 1) {
    const struct rlimit_request *limit = &request->rlimits[at];
    struct rlimit value = {.rlim_cur = limit->soft, .rlim_max = limit->hard};
    if (prlimit(1, (__rlimit_resource_t)limit->resource, &value, NULL) != 0) give_up(socket, "a limit of init could not be set");
  }
}

/* bubblewrap made a session without a terminal; the tool gets one of its own, and it is the terminal's only one. */
static void take_terminal(int socket) {
  if (ioctl(STDIN_FILENO, TIOCSCTTY, 0) != 0) give_up(socket, "the terminal could not be taken");
}

/* The listener of a tool with a way out, first, and descriptors of the writable tmpfs: through these the launcher sees whether they
 * are full, also when the sandbox is gone. They give no access to anything.
 * SECURITY: T-39 — before the limits: descriptors that are under way are counted for the user, and who may have as few files as a
 * tool could not send any while one leaves its own unread.
 * SECURITY: T-22, T-19 — nothing of the listener stays: who had it inside could take what is meant for the gate. */
static void hand_out(const struct request *request, int socket) {
  char brings = STAGE_BRINGS, control[CMSG_SPACE((1 + MAX_TMPFS) * sizeof(int))];
  struct iovec part = {.iov_base = &brings, .iov_len = 1};
  int fds[1 + MAX_TMPFS], count = 0;
  if (request->has_listener && (fds[count++] = open_listener()) < 0) give_up(socket, "the way out cannot be opened");
  for (int at = 0; at < request->tmpfs_count; at += 1) {
    fds[count] = open(request->tmpfs[at], O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fds[count] >= 0) count += 1;
  }
  if (count == 0) return;
  memset(control, 0, sizeof control);
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control};
  message.msg_controllen = CMSG_SPACE((size_t)count * sizeof(int));
  struct cmsghdr *head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN((size_t)count * sizeof(int));
  memcpy(CMSG_DATA(head), fds, (size_t)count * sizeof(int));
  if (sendmsg(socket, &message, MSG_NOSIGNAL) != 1) give_up(socket, "descriptors could not be handed over");
  for (int at = 0; at < count; at += 1) close(fds[at]);
}

/* SECURITY: T-14 — which file or directory is there, not what it is called: a way that was swapped leads to another. */
static void append_bound(struct buffer *facts, const char *path) {
  char name[4200], text[64];
  struct stat found;
  int length = 0;
  if (lstat(path, &found) == 0) {
    length = snprintf(text, sizeof text, "%llu %llu", (unsigned long long)found.st_dev, (unsigned long long)found.st_ino);
  }
  snprintf(name, sizeof name, "bound%s", path);
  append_named(facts, FACT_INSIDE, name, text, (size_t)length);
}

static void tell_facts(const struct request *request, int socket, int isolated) {
  struct buffer facts = {0};
  uint8_t header[5] = {'F'};
  append(&facts, header, sizeof header);
  append_file(&facts, FACT_INSIDE, "status", "/proc/self/status");
  append_file(&facts, FACT_INSIDE, "limits", "/proc/self/limits");
  append_namespaces(&facts, FACT_INSIDE, "/proc/self/ns");
  if (isolated) {
    append_file(&facts, FACT_INSIDE, "mountinfo", "/proc/self/mountinfo");
    append_file(&facts, FACT_INSIDE, "net/route", "/proc/self/net/route");
    append_file(&facts, FACT_INSIDE, "net/ipv6_route", "/proc/self/net/ipv6_route");
    append_file(&facts, FACT_INSIDE, "net/dev", "/proc/self/net/dev");
  }
  for (int at = 0; at < request->bound_count; at += 1) append_bound(&facts, request->bound[at]);
  if (facts.failed) give_up(socket, "there is no memory for the facts");
  write_u32(facts.bytes + 1, (uint32_t)(facts.length - sizeof header));
  /* All at once: each message would wake the launcher. */
  if (write_all(socket, facts.bytes, facts.length) != 0) _exit(126);
  release(&facts);
}

static const uint8_t *read_file(int fd, size_t *length) {
  struct stat stat;
  if (fstat(fd, &stat) != 0 || stat.st_size <= 0 || stat.st_size > MAX_STAGE) return NULL;
  uint8_t *bytes = malloc((size_t)stat.st_size);
  if (bytes == NULL || pread(fd, bytes, (size_t)stat.st_size, 0) != stat.st_size) return NULL;
  *length = (size_t)stat.st_size;
  return bytes;
}

static void enter_directory(const struct request *request, int socket) {
  if (chdir(request->cwd) != 0) give_up(socket, "the working directory cannot be entered");
}

/* A pipe was made before it was known whether there is input. Programs tell an empty one from /dev/null: ripgrep reads it
 * instead of the directory. */
static void drop_input(int socket) {
  int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0) give_up(socket, "there is no /dev/null");
}

static const struct request *tool_named_later(int file, int socket) {
  static struct request named;
  size_t length = 0;
  const uint8_t *bytes = file < 0 ? NULL : read_file(file, &length);
  if (bytes == NULL || parse_tool(bytes, length, &named) != NULL) give_up(socket, "the tool is unreadable");
  if (!named.has_stdin) drop_input(socket);
  enter_directory(&named, socket);
  return &named;
}

_Noreturn void become_tool(const struct request *request, int socket, int isolated) {
  int named_in;
  /* In a group of its own, so that who signals the group means the tool and what it started, and not bubblewrap's init. */
  setsid();
  if (request->has_terminal) take_terminal(socket);
  if (!request->is_later) enter_directory(request, socket);
  umask(022);
  hand_out(request, socket);
  set_limits(request, socket);
  if (isolated) limit_init(request, socket);
  const uint8_t here = STAGE_HERE;
  if (isolated && write_all(socket, &here, 1) != 0) _exit(126);
  tell_facts(request, socket, isolated);
  if (!await_word(socket, &named_in)) _exit(126);
  if (request->is_later) request = tool_named_later(named_in, socket);
  /* SECURITY: T-19 — nothing of ours is open in the tool; the socket closes by itself, which says that it runs. */
  if (close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) != 0) give_up(socket, "descriptors could not be closed");
  /* A gate is no tool: this one is what makes it a gate. */
  if (request->is_gate && fcntl(GATE_CHANNEL, F_SETFD, 0) != 0) give_up(socket, "the channel of the gate is missing");
  execve(request->tool_path, request->args, request->env);
  give_up(socket, "the program could not be executed");
}

int stage_main(void) {
  static struct request request;
  size_t length = 0;
  const uint8_t *bytes = read_file(STAGE_FILE, &length);
  if (bytes == NULL || parse_request(bytes, length, &request) != NULL) give_up(STAGE_SOCKET, "the request is unreadable");
  become_tool(&request, STAGE_SOCKET, 1);
}
