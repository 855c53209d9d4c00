// palyra-hook CLIENT --home DIR --palyra PROGRAM --patience SECONDS
// palyra-hook CLIENT --listener 127.0.0.1:PORT --palyra PROGRAM --patience SECONDS
//
// The second form is for an agent in a box of Palyra's, where no home is to be seen: the listener there is palyrad's own, and
// was opened before the agent's first instruction, so there is no key, and nobody else who could be at that port.
//
// What an agent runs before and after each of its tools: takes the agent's message from standard input to palyrad, and does
// what palyrad answers. It decides nothing and understands nothing of the message. Whatever fails, is late, is too long or
// cannot be believed ends with exit code 2, which every agent that has hooks takes for a no.

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frames.h"

#define BLOCKED 2
#define MOST_PATIENCE 86400

struct bytes {
  uint8_t *at;
  size_t length;
};

// SECURITY: T-58 — the only other way out of this program: the agent's tool does not run.
static _Noreturn void block(const char *why, const char *fix) {
  fprintf(stderr, "Palyra: %s, so this is not allowed. %s\n", why, fix);
  exit(BLOCKED);
}

static const char UP[] = "To start it: palyra up";
static const char DOCTOR[] = "palyra doctor says more.";

static void on_late(int signal) {
  (void)signal;
  static const char LATE[] = "Palyra: nobody answered in time, so this is not allowed. palyra inbox shows what is asked.\n";
  ssize_t written = write(STDERR_FILENO, LATE, sizeof LATE - 1);
  (void)written;
  _exit(BLOCKED);
}

static long seconds_of(const char *text) {
  char *end;
  errno = 0;
  long seconds = strtol(text, &end, 10);
  if (errno != 0 || *text == '\0' || *end != '\0' || seconds < 1 || seconds > MOST_PATIENCE)
    block("its hook has a patience that is no number of seconds", DOCTOR);
  return seconds;
}

/* How long the whole is, by its beginning; 0 while that is not said yet. */
typedef size_t (*whole_length)(const uint8_t *bytes, size_t length);

static struct bytes read_until(int fd, size_t most, const char *what, whole_length whole) {
  size_t room = 64 * 1024;
  struct bytes held = { malloc(room), 0 };
  for (;;) {
    if (held.at == NULL) block("there is no memory", DOCTOR);
    ssize_t got = read(fd, held.at + held.length, room - held.length);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) block(what, DOCTOR);
    if (got == 0) return held;
    held.length += (size_t)got;
    if (held.length > most) block(what, DOCTOR);
    size_t wanted = whole == NULL ? 0 : whole(held.at, held.length);
    if (wanted > most) block(what, DOCTOR);
    if (wanted != 0 && held.length >= wanted) return held;
    if (held.length == room) {
      room *= 2;
      held.at = realloc(held.at, room);
    }
  }
}

static struct bytes read_all(int fd, size_t most, const char *what) {
  return read_until(fd, most, what, NULL);
}

/* The way to palyrad, or why there is none. That is said when the agent has said all: to some a hook that does not listen is a mishap. */
struct way {
  struct place place;
  int fd;
  const char *why;
  const char *fix;
};

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
  char *end = NULL;
  unsigned long port = 0;
  if (strncmp(address, HOST, sizeof HOST - 1) == 0) port = strtoul(address + sizeof HOST - 1, &end, 10);
  if (end == NULL || *end != '\0' || port == 0 || port > 65535) return no_way("its hook has a listener that is none", DOCTOR);
  way.place.port = (uint16_t)port;
  return way;
}

static bool write_all(int fd, const uint8_t *bytes, size_t length) {
  while (length > 0) {
    ssize_t put = write(fd, bytes, length);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    bytes += put;
    length -= (size_t)put;
  }
  return true;
}

struct options {
  const char *client;
  const char *home;
  const char *listener;
  const char *program;
  long patience;
};

static struct options read_options(int argc, char **argv) {
  struct options options = {0};
  for (int i = 1; i < argc; i++) {
    const char *word = argv[i];
    if (word[0] != '-' && options.client == NULL) {
      options.client = word;
      continue;
    }
    if (i + 1 == argc) block("its hook is not set up as it should be", DOCTOR);
    const char *value = argv[++i];
    if (strcmp(word, "--home") == 0) options.home = value;
    else if (strcmp(word, "--listener") == 0) options.listener = value;
    else if (strcmp(word, "--palyra") == 0) options.program = value;
    else if (strcmp(word, "--patience") == 0) options.patience = seconds_of(value);
    else block("its hook is not set up as it should be", DOCTOR);
  }
  int has_one_place = (options.home == NULL) != (options.listener == NULL);
  if (options.client == NULL || !has_one_place || options.program == NULL || options.patience == 0)
    block("its hook is not set up as it should be", DOCTOR);
  return options;
}

/* Up to palyrad's door. Nothing of the agent's has been said by then. */
static struct way reach(const struct options *options) {
  struct way way = options->listener == NULL ? find_palyrad(options->home) : listener_at(options->listener);
  if (way.why != NULL) return way;
  way.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(way.place.port) };
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  bool is_there = way.fd >= 0 && connect(way.fd, (struct sockaddr *)&address, sizeof address) == 0;
  if (is_there) {
    int on = 1;
    setsockopt(way.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    is_there = options->listener == NULL || write_all(way.fd, (const uint8_t *)DOOR_WORD, sizeof DOOR_WORD - 1);
  }
  if (!is_there) {
    if (way.fd >= 0) close(way.fd);
    return no_way("palyrad does not run", UP);
  }
  return way;
}

/* palyrad does so with whoever says nothing for ten seconds: an agent may take longer to say what it wants. */
static bool is_hung_up(int fd) {
  uint8_t byte;
  ssize_t got = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
}

/*
 * SECURITY: T-58 — whoever started us may have closed one of these. The connection would have its number then: what is at the
 * port would say what the agent wants, or be told the answer instead of the agent.
 */
static void require_streams(void) {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
    if (fcntl(fd, F_GETFD) < 0) block("its hook was started without input or output", DOCTOR);
}

int main(int argc, char **argv) {
  require_streams();
  struct options options = read_options(argc, argv);
  // Before the agent's own patience ends: agents let a tool run whose hook they gave up on.
  struct sigaction late = { .sa_handler = on_late };
  sigaction(SIGALRM, &late, NULL);
  sigset_t waking;
  sigemptyset(&waking);
  sigaddset(&waking, SIGALRM);
  // Whoever started it may have blocked it.
  sigprocmask(SIG_UNBLOCK, &waking, NULL);
  signal(SIGPIPE, SIG_IGN);
  alarm((unsigned)options.patience);

  // First: while the agent writes its message palyrad is woken and takes the connection, and nobody waits for that afterwards.
  struct way way = reach(&options);
  struct bytes message = read_all(STDIN_FILENO, MOST_MESSAGE, "what the agent says is too long or cannot be read");
  if (way.fd >= 0 && is_hung_up(way.fd)) {
    close(way.fd);
    way = reach(&options);
  }
  if (way.why != NULL) block(way.why, way.fix);
  struct question question = {
    .client = options.client, .program = options.program, .message = message.at, .message_length = message.length,
  };
  if (getrandom(question.nonce, sizeof question.nonce, 0) != sizeof question.nonce) block("there is no randomness", DOCTOR);
  size_t length;
  uint8_t *asked = write_question(&question, &way.place, &length);
  if (asked == NULL) block("what the agent says does not fit", DOCTOR);

  if (!write_all(way.fd, asked, length)) block("palyrad does not listen", UP);
  // Not until it hangs up: it has other things to do first, and the agent waits.
  struct bytes said = read_until(way.fd, MOST_ANSWER, "palyrad's answer is too long", answer_length);
  struct answer answer;
  if (!read_answer(said.at, said.length, &question, &way.place, &answer)) block("palyrad did not answer", DOCTOR);

  // The reason first: an agent that stops reading at a no has it.
  bool is_told = write_all(STDERR_FILENO, answer.err, answer.err_length) &&
                 write_all(STDOUT_FILENO, answer.out, answer.out_length);
  // SECURITY: T-58 — half an answer may read as another one.
  if (!is_told) _exit(BLOCKED);
  // SECURITY: T-58 — agents take any other code for a mishap, and go on.
  _exit(answer.exit_code == 0 ? 0 : BLOCKED);
}
