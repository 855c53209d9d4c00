#include "network.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static const char OWN[] = "/proc/self/ns/net";

static int spare = -1, from_maker = -1, is_wanted, is_refused;
static pid_t maker;

int is_maker(pid_t pid) { return maker > 0 && pid == maker; }

int network_socket(void) { return from_maker; }

int take_network(void) {
  int taken = spare;
  spare = -1;
  is_wanted = 1;
  return taken;
}

int wants_network(void) { return is_wanted && spare < 0 && maker <= 0 && !is_refused; }

/* In the maker. */

/* As bubblewrap leaves it: an address of its own comes with that. */
static int set_loopback_up(void) {
  struct ifreq loopback = {.ifr_name = "lo", .ifr_flags = IFF_UP};
  int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  int done = any < 0 ? -1 : ioctl(any, SIOCSIFFLAGS, &loopback);
  if (any >= 0) close(any);
  return done;
}

static int open_own(void) { return open(OWN, O_RDONLY | O_CLOEXEC); }

/* Where none may be entered, none is made: nobody else could enter it either. */
static int open_new(void) {
  int before = open_own();
  if (before < 0 || setns(before, CLONE_NEWNET) != 0 || unshare(CLONE_NEWNET) != 0) return -1;
  return set_loopback_up() == 0 ? open_own() : -1;
}

/* A message with one descriptor. */
union control {
  char bytes[CMSG_SPACE(sizeof(int))];
  struct cmsghdr aligned;
};

static int hand_over(int socket, int network) {
  char nothing = 0;
  union control control = {0};
  struct iovec part = {.iov_base = &nothing, .iov_len = 1};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
  control.aligned = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof network)};
  memcpy(CMSG_DATA(&control.aligned), &network, sizeof network);
  return sendmsg(socket, &message, MSG_NOSIGNAL) == 1 ? 0 : -1;
}

/* SECURITY: T-16 — whoever waits for the end of a pipe must not wait for us, and we end with the launcher. */
static _Noreturn void make_and_hand_over(int socket) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  close_range(0, (unsigned int)socket - 1, 0);
  close_range((unsigned int)socket + 1, ~0U, 0);
  int network = open_new();
  _exit(network >= 0 && hand_over(socket, network) == 0 ? 0 : 1);
}

/* In the launcher. */

void make_network(void) {
  int ends[2];
  is_refused = 1;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return;
  maker = fork();
  if (maker == 0) make_and_hand_over(ends[1]);
  close(ends[1]);
  if (maker < 0) close(ends[0]);
  else from_maker = ends[0];
}

static void take_over(const struct cmsghdr *head) {
  if (head == NULL || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS || head->cmsg_len != CMSG_LEN(sizeof spare)) return;
  memcpy(&spare, CMSG_DATA(head), sizeof spare);
  is_refused = 0;
}

/* After what it hands over comes its end: it has no more to do then. */
void hear_network(void) {
  char nothing;
  union control control;
  struct iovec part = {.iov_base = &nothing, .iov_len = 1};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
  ssize_t got = recvmsg(from_maker, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got > 0) {
    take_over(CMSG_FIRSTHDR(&message));
    return;
  }
  close(from_maker);
  from_maker = -1;
  waitpid(maker, NULL, 0);
  maker = 0;
}
