#include "box-layout.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum meaning { PASSED, NETWORK, PERMS, SIZE, RO_BIND, BIND, SYMLINK, FILE_DATA, TMPFS, DEV, REMOUNT_RO, PROC };

/* SECURITY: T-18, T-20 — a list and no guesses: one word that is not here, and bubblewrap gets all of them as they came. */
static const struct word {
  const char *name;
  int arguments;
  enum meaning meaning;
} WORDS[] = {
  {"--unshare-user", 0, PASSED},   {"--unshare-ipc", 0, PASSED},  {"--unshare-pid", 0, PASSED}, {"--unshare-net", 0, NETWORK},
  {"--unshare-uts", 0, PASSED},    {"--unshare-cgroup", 0, PASSED}, {"--disable-userns", 0, PASSED}, {"--die-with-parent", 0, PASSED},
  {"--new-session", 0, PASSED},    {"--cap-drop", 1, PASSED},     {"--hostname", 1, PASSED},    {"--uid", 1, PASSED},
  {"--gid", 1, PASSED},            {"--seccomp", 1, PASSED},      {"--perms", 1, PERMS},        {"--size", 1, SIZE},
  {"--ro-bind", 2, RO_BIND},       {"--bind", 2, BIND},           {"--symlink", 2, SYMLINK},    {"--file", 2, FILE_DATA},
  {"--tmpfs", 1, TMPFS},           {"--dev", 1, DEV},             {"--remount-ro", 1, REMOUNT_RO}, {"--proc", 1, PROC},
};

static const struct word *find_word(const char *name) {
  for (size_t at = 0; at < sizeof WORDS / sizeof WORDS[0]; at += 1) {
    if (strcmp(WORDS[at].name, name) == 0) return &WORDS[at];
  }
  return NULL;
}

struct reader {
  const struct request *request;
  struct layout *layout;
  int left;
  /* For the next step, if they were said. */
  int has_mode;
  uint32_t mode;
  uint64_t size;
};

static void leave(struct reader *r, char *word) { r->layout->left[r->left++] = word; }

static struct step *add(struct reader *r, enum step_kind kind, char *at) {
  if (r->layout->count >= MAX_STEPS || at == NULL) return NULL;
  struct step *step = &r->layout->steps[r->layout->count++];
  *step = (struct step){.kind = kind, .at = at, .copy = -1, .mode = r->has_mode ? r->mode : 0755, .size = r->size};
  r->has_mode = 0;
  r->size = 0;
  return step;
}

static int add_bind(struct reader *r, const char *source, char *at, int is_read_only, int has_devices) {
  struct step *step = add(r, STEP_BIND, at);
  if (step == NULL) return 0;
  step->source = source;
  step->is_read_only = is_read_only;
  step->has_devices = has_devices;
  return 1;
}

static int add_link(struct reader *r, const char *target, char *at) {
  struct step *step = add(r, STEP_LINK, at);
  if (step != NULL) step->source = target;
  return step != NULL;
}

static int add_file(struct reader *r, const char *fd, char *at) {
  struct step *step = add(r, STEP_FILE, at);
  for (int data = 0; step != NULL && data < r->request->data_count; data += 1) {
    if (r->request->data[data].fd == atoi(fd)) step->data = &r->request->data[data];
  }
  return step != NULL && step->data != NULL;
}

/* NULL when there is no room for it. */
static char *below(struct reader *r, const char *directory, const char *name) {
  struct layout *layout = r->layout;
  size_t length = strlen(directory) + strlen(name) + 2;
  if (length > sizeof layout->names - layout->names_length) return NULL;
  char *path = layout->names + layout->names_length;
  layout->names_length += length;
  strcpy(path, directory);
  strcat(strcat(path, "/"), name);
  return path;
}

/* As bubblewrap has it: the harmless devices, terminals of its own, and the names that programs expect. */
static int add_devices(struct reader *r, char *at) {
  static const char *const DEVICES[][2] = {{"null", "/dev/null"}, {"zero", "/dev/zero"}, {"full", "/dev/full"},
    {"random", "/dev/random"}, {"urandom", "/dev/urandom"}, {"tty", "/dev/tty"}};
  static const char *const LINKS[][2] = {{"stdin", "/proc/self/fd/0"}, {"stdout", "/proc/self/fd/1"}, {"stderr", "/proc/self/fd/2"},
    {"fd", "/proc/self/fd"}, {"core", "/proc/kcore"}, {"ptmx", "pts/ptmx"}};
  if (add(r, STEP_TMPFS, at) == NULL) return 0;
  for (size_t each = 0; each < sizeof DEVICES / sizeof DEVICES[0]; each += 1) {
    if (!add_bind(r, DEVICES[each][1], below(r, at, DEVICES[each][0]), 0, 1)) return 0;
  }
  for (size_t each = 0; each < sizeof LINKS / sizeof LINKS[0]; each += 1) {
    if (!add_link(r, LINKS[each][1], below(r, at, LINKS[each][0]))) return 0;
  }
  const char *terminal = r->request->has_terminal ? ttyname(STDOUT_FILENO) : NULL;
  if (terminal != NULL && !add_bind(r, terminal, below(r, at, "console"), 0, 1)) return 0;
  return add(r, STEP_DEVPTS, below(r, at, "pts")) != NULL;
}

static int has_dots(const char *path) { return strstr(path, "/..") != NULL; }

static int in_proc(const char *path) { return strncmp(path, "/proc/", 6) == 0; }

/* 1, or 0 when it is not ours to do. */
static int read_step(struct reader *r, enum meaning meaning, char **words) {
  char *at = meaning == TMPFS || meaning == DEV || meaning == REMOUNT_RO ? words[0] : words[1];
  if (at[0] != '/' || has_dots(at) || in_proc(at)) return 0;
  if (at[1] == 0 && meaning != REMOUNT_RO) return 0;
  switch (meaning) {
    case RO_BIND: return add_bind(r, words[0], at, 1, 0);
    case BIND: return add_bind(r, words[0], at, 0, 0);
    case SYMLINK: return add_link(r, words[0], at);
    case FILE_DATA: return add_file(r, words[0], at);
    case TMPFS: return add(r, STEP_TMPFS, at) != NULL;
    case DEV: return add_devices(r, at);
    case REMOUNT_RO: return add(r, STEP_READ_ONLY, at) != NULL;
    default: return 0;
  }
}

/* What lies in the sandbox's own /proc can only be mounted when that is there, which takes its pid namespace. */
static int is_left(const struct word *word, char **words) {
  return word->meaning == PASSED || word->meaning == NETWORK || word->meaning == PROC || (word->meaning == RO_BIND && in_proc(words[1]));
}

static int read_word(struct reader *r, const struct word *word, char **words) {
  if (word->meaning == PERMS) {
    r->has_mode = 1;
    r->mode = (uint32_t)strtoul(words[1], NULL, 8);
    return r->mode <= 07777;
  }
  if (word->meaning == SIZE) {
    r->size = strtoull(words[1], NULL, 10);
    return r->size > 0;
  }
  if (!is_left(word, words + 1)) return read_step(r, word->meaning, words + 1);
  if (r->has_mode || r->size > 0) return 0;
  if (word->meaning == PROC && (strcmp(words[1], "/proc") != 0 || add(r, STEP_DIRECTORY, words[1]) == NULL)) return 0;
  if (word->meaning == NETWORK && r->layout->has_network) return 1;
  for (int each = 0; each <= word->arguments; each += 1) leave(r, words[each]);
  return 1;
}

int read_layout(const struct request *request, struct layout *layout) {
  static char take[] = "--dev-bind", place[] = BOX_PLACE, root[] = "/";
  struct reader r = {.request = request, .layout = layout};
  char **words = (char **)(uintptr_t)request->wrapper;
  int at = 1;
  layout->count = 0;
  layout->names_length = 0;
  leave(&r, words[0]);
  leave(&r, take);
  leave(&r, place);
  leave(&r, root);
  while (at < request->wrapper_count && strncmp(words[at], "--", 2) == 0) {
    const struct word *word = find_word(words[at]);
    if (word == NULL || at + word->arguments >= request->wrapper_count) return 0;
    if (!read_word(&r, word, words + at)) return 0;
    at += 1 + word->arguments;
  }
  layout->command = r.left;
  for (; at < request->wrapper_count; at += 1) leave(&r, words[at]);
  leave(&r, NULL);
  return layout->count > 0;
}
