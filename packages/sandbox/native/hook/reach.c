#include "reach.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "words.h"

const char UP[] = "To start it: palyra up";
const char DOCTOR[] = "palyra doctor says more.";

static struct way no_way(const char *why, const char *fix) {
  return (struct way){ .fd = -1, .why = why, .fix = fix };
}

static struct way find_palyrad(const char *home) {
  char path[4096];
  int length = snprintf(path, sizeof path, "%s/hook", home);
  if (length < 0 || (size_t)length >= sizeof path) return no_way("the path of its home is too long", DOCTOR);
  int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return no_way("palyrad does not run", UP);
  struct stat stat;
  // SECURITY: T-40 — a place that others can write leads to them, and a key that they can read is theirs.
  bool is_ours = fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) && (stat.st_mode & 077) == 0 && stat.st_uid == geteuid();
  struct way way = { .fd = -1 };
  char text[1024];
  ssize_t got = is_ours ? read(fd, text, sizeof text) : 0;
  close(fd);
  if (!is_ours) return no_way("the file that says where palyrad is is open to others", "Run: chmod 600 on ~/.palyra/hook");
  if (got < 0 || !read_place(text, (size_t)got, &way.place))
    return no_way("the file that says where palyrad is cannot be read", UP);
  return way;
}

/* What a connection says first that wants palyrad itself (packages/egress/src/wire/door.ts). */
static const char DOOR_WORD[] = "PALYRA1\n";

static struct way listener_at(const char *address) {
  static const char HOST[] = "127.0.0.1:";
  struct way way = { .fd = -1 };
  unsigned long port;
  bool is_one = strncmp(address, HOST, sizeof HOST - 1) == 0 && read_number(address + sizeof HOST - 1, 65535, &port);
  if (!is_one) return no_way("its hook has a listener that is none", DOCTOR);
  way.place.port = (uint16_t)port;
  return way;
}

bool write_all(int fd, const uint8_t *bytes, size_t length) {
  while (length > 0) {
    ssize_t put = write(fd, bytes, length);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    bytes += put;
    length -= (size_t)put;
  }
  return true;
}

struct way reach(const struct whereabouts *where) {
  struct way way = where->listener == NULL ? find_palyrad(where->home) : listener_at(where->listener);
  if (way.why != NULL) return way;
  way.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(way.place.port) };
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  bool is_there = way.fd >= 0 && connect(way.fd, (struct sockaddr *)&address, sizeof address) == 0;
  if (is_there) {
    int on = 1;
    setsockopt(way.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    is_there = where->listener == NULL || write_all(way.fd, (const uint8_t *)DOOR_WORD, sizeof DOOR_WORD - 1);
  }
  if (!is_there) {
    if (way.fd >= 0) close(way.fd);
    struct way none = no_way("palyrad does not run", UP);
    none.is_cut_off = true;
    return none;
  }
  return way;
}

bool is_hung_up(int fd) {
  uint8_t byte;
  ssize_t got = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
}
