#include "listener.h"

#include <arpa/inet.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* More than a build opens at once; the kernel's own limit is often lower. */
#define BACKLOG 1024

/* SECURITY: T-22 — neither SO_REUSEADDR nor SO_REUSEPORT: with one of them a tool could take the port as well, and with it
 * the connections of its neighbours. IPv4 only: every client is told 127.0.0.1, and a second socket would be a second one to
 * pass, to measure and to close. */
int open_listener(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(PROXY_PORT), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  if (bind(fd, (const struct sockaddr *)&address, sizeof address) != 0 || listen(fd, BACKLOG) != 0) {
    close(fd);
    return -1;
  }
  return fd;
}

static int option(int fd, int name) {
  int value = -1;
  socklen_t length = sizeof value;
  return getsockopt(fd, SOL_SOCKET, name, &value, &length) == 0 ? value : -1;
}

static unsigned long long network_of(int fd) {
  struct stat found;
  int network = ioctl(fd, SIOCGSKNS);
  if (network < 0) return 0;
  int is_known = fstat(network, &found) == 0;
  close(network);
  return is_known ? (unsigned long long)found.st_ino : 0;
}

size_t describe_listener(int fd, char *into, size_t room) {
  struct sockaddr_in address = {0};
  socklen_t length = sizeof address;
  char text[INET_ADDRSTRLEN];
  if (option(fd, SO_DOMAIN) != AF_INET || option(fd, SO_TYPE) != SOCK_STREAM || option(fd, SO_ACCEPTCONN) != 1) return 0;
  if (getsockname(fd, (struct sockaddr *)&address, &length) != 0 || length != sizeof address) return 0;
  if (inet_ntop(AF_INET, &address.sin_addr, text, sizeof text) == NULL) return 0;
  int written = snprintf(into, room, "%s:%u net:[%llu]", text, ntohs(address.sin_port), network_of(fd));
  return written > 0 && (size_t)written < room ? (size_t)written : 0;
}
