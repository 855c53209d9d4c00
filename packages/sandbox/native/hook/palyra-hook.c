// palyra-hook CLIENT --home DIR --palyra PROGRAM --patience SECONDS
// palyra-hook CLIENT --listener 127.0.0.1:PORT --palyra PROGRAM --patience SECONDS
//
// The second form is for an agent in a box of Palyra's, where no home is to be seen: the listener there is palyrad's own, and
// was opened before the agent's first instruction, so there is no key, and nobody else who could be at that port.
//
// What an agent runs before and after each of its tools: takes the agent's message from standard input to palyrad, and does
// what palyrad answers. It decides nothing and understands nothing of the message. Whatever fails, is late, is too long or
// cannot be believed ends with exit code 2, which every agent that has hooks takes for a no.
//
// palyra-hook exec …: what the agent's shell runs then in the place of its own command (collect.c).

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "collect.h"
#include "late.h"
#include "reach.h"
#include "words.h"

#define BLOCKED 2
#define MOST_PATIENCE 86400

struct bytes {
  uint8_t *at;
  size_t length;
};

// SECURITY: T-58 — the only other way out of this program: the agent's tool does not run.
static _Noreturn void block(const char *why, const char *fix) {
  tell("Palyra: %s, so this is not allowed. %s\n", why, fix);
  _exit(BLOCKED);
}

static void on_late(int signal) {
  (void)signal;
  static const char LATE[] = "Palyra: nobody answered in time, so this is not allowed. palyra inbox shows what is asked.\n";
  ssize_t written = write(STDERR_FILENO, LATE, sizeof LATE - 1);
  (void)written;
  _exit(BLOCKED);
}

static unsigned seconds_of(const char *text) {
  unsigned long seconds;
  if (!read_number(text, MOST_PATIENCE, &seconds)) block("its hook has a patience that is no number of seconds", DOCTOR);
  return (unsigned)seconds;
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

struct options {
  const char *client;
  struct whereabouts where;
  const char *program;
  unsigned patience;
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
    if (strcmp(word, "--home") == 0) options.where.home = value;
    else if (strcmp(word, "--listener") == 0) options.where.listener = value;
    else if (strcmp(word, "--palyra") == 0) options.program = value;
    else if (strcmp(word, "--patience") == 0) options.patience = seconds_of(value);
    else block("its hook is not set up as it should be", DOCTOR);
  }
  int has_one_place = (options.where.home == NULL) != (options.where.listener == NULL);
  if (options.client == NULL || !has_one_place || options.program == NULL || options.patience == 0)
    block("its hook is not set up as it should be", DOCTOR);
  return options;
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
  if (argc > 1 && strcmp(argv[1], "exec") == 0) return collect(argc, argv);
  require_streams();
  struct options options = read_options(argc, argv);
  // Before the agent's own patience ends: agents let a tool run whose hook they gave up on.
  when_late(on_late);
  signal(SIGPIPE, SIG_IGN);
  alarm(options.patience);

  // First: while the agent writes its message palyrad is woken and takes the connection, and nobody waits for that afterwards.
  // That there is no way is said when the agent has said all: to some a hook that does not listen is a mishap.
  struct way way = reach(&options.where);
  struct bytes message = read_all(STDIN_FILENO, MOST_MESSAGE, "what the agent says is too long or cannot be read");
  if (way.fd >= 0 && is_hung_up(way.fd)) {
    close(way.fd);
    way = reach(&options.where);
  }
  if (way.why != NULL) block(way.why, way.fix);
  // Some agents say where a tool would run, which is the model's to choose, and not where they are themselves.
  static char directory[4096];
  struct question question = {
    .client = options.client,
    .program = options.program,
    .directory = getcwd(directory, sizeof directory) == NULL ? "" : directory,
    .message = message.at,
    .message_length = message.length,
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
