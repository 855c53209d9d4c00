// palyra-hook exec [--for WORDS] --home DIR --call ID
// palyra-hook exec [--for WORDS] --listener 127.0.0.1:PORT --call ID
//
// As `palyra exec --call`, without Node: it brings an id and nothing else (the words are for whoever reads the agent's screen);
// palyrad runs the command that was decided, once, and this passes on what that puts out and how it ends. Whatever is not proven
// to be palyrad's is not passed on, and without palyrad's word on the end there is none: neither 0 nor anything that a command
// could have ended with.

#include "collect.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "late.h"
#include "reach.h"
#include "words.h"

/* 240 and those of palyra (packages/agents/src/exits): programs seldom end with them. */
enum { EXIT_INTERNAL = 241, EXIT_USAGE = 242, EXIT_UNREACHABLE = 244 };

static int say(int exit_code, const char *code, const char *message, const char *fix) {
  tell("error[%s]: %s\nfix: %s\n", code, message, fix);
  return exit_code;
}

static int no_palyrad(const struct way *way) {
  if (way->is_cut_off)
    return say(EXIT_UNREACHABLE, "cli.daemon_not_running", "palyrad cannot be reached from here, so the command does not run.",
               "If the agent has a sandbox of its own, let it connect to 127.0.0.1 (of Codex: network_access = true, see "
               "docs/reference/agents.md); else run palyra up.");
  char message[256];
  snprintf(message, sizeof message, "%s, so the command does not run.", way->why);
  return say(EXIT_UNREACHABLE, "cli.daemon_not_running", message, way->fix);
}

static const char LOG[] = "palyra log says what became of it.";

static int lost(const char *message) { return say(EXIT_UNREACHABLE, "client.unreachable", message, LOG); }

struct options {
  struct whereabouts where;
  const char *call;
  const char *words;
};

/* SECURITY: T-03 — whatever would change the command is refused, and not left out: nobody is to believe that it counts. */
static bool read_options(int argc, char **argv, struct options *options) {
  for (int i = 2; i < argc; i += 2) {
    const char **value = strcmp(argv[i], "--home") == 0       ? &options->where.home
                         : strcmp(argv[i], "--listener") == 0 ? &options->where.listener
                         : strcmp(argv[i], "--call") == 0     ? &options->call
                         : strcmp(argv[i], "--for") == 0      ? &options->words
                                                              : NULL;
    if (value == NULL || *value != NULL || i + 1 == argc) return false;
    *value = argv[i + 1];
  }
  return options->call != NULL && (options->where.home == NULL) != (options->where.listener == NULL);
}

/*
 * SECURITY: T-58 — whoever started us may have closed one of these. The connection would have its number then, and what the
 * command puts out would go to palyrad. As programs that Node runs, it writes to nowhere instead.
 */
static bool fill_streams(void) {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
    // The lowest number that is free is this one.
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY) != fd) return false;
  }
  return true;
}

static volatile sig_atomic_t connection = -1;
static volatile sig_atomic_t is_ending;
static volatile sig_atomic_t ended_by;

/* palyrad needs a fraction of it to end a command. Whoever does not read, or has palyrad's port, holds us no longer. */
#define ENDING_SECONDS 10

/* palyrad hears that nobody wants the command any more, and ends it with all that it started. */
static void give_up(void) {
  is_ending = 1;
  shutdown(connection, SHUT_WR);
  alarm(ENDING_SECONDS);
}

static void on_late(int number) {
  (void)number;
  _exit(ended_by == 0 ? EXIT_UNREACHABLE : 128 + ended_by);
}

/* The first one ends the command, and is waited for; who does not want to wait says it again. */
static void on_signal(int number) {
  int kept = errno;
  if (is_ending) _exit(128 + number);
  ended_by = number;
  give_up();
  errno = kept;
}

/* Not those that are ignored: whoever started us wants the command to outlive them (nohup). */
static void take_signals(void) {
  when_late(on_late);
  static const int ENDING[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
  for (size_t i = 0; i < sizeof ENDING / sizeof *ENDING; i++) {
    struct sigaction now;
    struct sigaction ours = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
    if (sigaction(ENDING[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN) sigaction(ENDING[i], &ours, NULL);
  }
}

static bool read_exactly(int fd, uint8_t *at, size_t length) {
  while (length > 0) {
    ssize_t got = read(fd, at, length);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    length -= (size_t)got;
  }
  return true;
}

/* Also where somebody who has the same stream has made it one that does not wait. 0, or why it failed. */
static int put_out(int fd, const uint8_t *bytes, size_t length) {
  while (length > 0) {
    ssize_t put = write(fd, bytes, length);
    if (put < 0 && errno == EAGAIN) {
      struct pollfd room = { .fd = fd, .events = POLLOUT };
      poll(&room, 1, -1);
      continue;
    }
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno;
    bytes += put;
    length -= (size_t)put;
  }
  return 0;
}

/* What could not be put out, once for all: from then on nothing is. */
struct outlet {
  int failure;
};

static void pass_on(struct outlet *outlet, int fd, const uint8_t *bytes, size_t length) {
  if (outlet->failure != 0) return;
  outlet->failure = put_out(fd, bytes, length);
  // Nobody reads it: as a command in a shell of its own would, it ends.
  if (outlet->failure != 0) give_up();
}

/* A pipe, or a pair of sockets, of which programs that Node runs have theirs: closed with something unread in it, it says so. */
static bool is_unread(int failure) { return failure == EPIPE || failure == ECONNRESET; }

static int end_with(const struct outlet *outlet, const uint8_t *payload, size_t length) {
  if (length < 1) return lost("palyrad's word on the end of the command cannot be understood.");
  // Somebody who stopped reading has what they wanted; what was lost on its way to a full disk is missing.
  if (outlet->failure != 0 && !is_unread(outlet->failure))
    return say(EXIT_INTERNAL, "cli.output_failed", "The output could not be written.",
               "Check where the output goes: the disk may be full.");
  put_out(STDERR_FILENO, payload + 1, length - 1);
  return payload[0];
}

/* SECURITY: T-58 — not a byte goes on before the whole frame was proven: whoever has the port says nothing to the agent. */
static int follow(int fd, struct collection *collection, const struct place *place) {
  static uint8_t frame[TOLD_HEAD + MOST_TOLD + SHA256_BYTES];
  struct outlet outlet = {0};
  for (;;) {
    if (!read_exactly(fd, frame, TOLD_HEAD)) break;
    size_t length = told_length(frame);
    if (length > MOST_TOLD) return lost("What was said of the command is not palyrad's.");
    if (!read_exactly(fd, frame + TOLD_HEAD, length + SHA256_BYTES)) break;
    if (!is_told(frame, length, collection, place)) return lost("What was said of the command is not palyrad's.");
    const uint8_t *payload = frame + TOLD_HEAD;
    if (frame[0] == TOLD_END) return end_with(&outlet, payload, length);
    pass_on(&outlet, frame[0] == TOLD_STDERR ? STDERR_FILENO : STDOUT_FILENO, payload, length);
  }
  if (collection->told == 0)
    return say(EXIT_UNREACHABLE, "client.unreachable",
               "palyrad hung up before it said anything of the command, which may not have begun.",
               "Run it again: a command that has begun does not begin twice.");
  return lost("palyrad hung up before it said how the command ended.");
}

int collect(int argc, char **argv) {
  if (!fill_streams()) return EXIT_INTERNAL;
  struct options options = {0};
  if (!read_options(argc, argv, &options))
    return say(EXIT_USAGE, "cli.invalid_usage", "--call stands alone: the command was decided before.",
               "Write palyra exec --call ID.");
  signal(SIGPIPE, SIG_IGN);
  struct way way = reach(&options.where);
  if (way.why != NULL) return no_palyrad(&way);
  struct collection collection = { .call = options.call };
  if (getrandom(collection.nonce, sizeof collection.nonce, 0) != sizeof collection.nonce)
    return say(EXIT_INTERNAL, "internal", "There is no randomness.", DOCTOR);
  uint8_t asked[COLLECTION_BYTES];
  size_t length = write_collection(&collection, &way.place, asked);
  if (length == 0)
    return say(EXIT_INTERNAL, "primitives.invalid_id", "This is not a valid call id.",
               "Give the 26 characters of the id exactly as Palyra printed them: digits and upper-case letters.");
  // Before that a signal ends this program, and with it the connection: it has asked for nothing.
  connection = way.fd;
  take_signals();
  if (!write_all(way.fd, asked, length)) return lost("palyrad hung up before it heard which command is wanted.");
  return follow(way.fd, &collection, &way.place);
}
