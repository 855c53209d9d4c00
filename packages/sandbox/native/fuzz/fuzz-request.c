/* The parser of requests, and of what comes with the word, against those that went wrong, under the sanitizers:
 *
 *   fuzz-request SEED COUNT FILE...
 *
 * Parses each file, then COUNT mutations of them, the same ones for the same seed, each as both and as a signal. Whatever the parser accepts
 * must also hold what the launcher relies on. Prints how many there were and how many of them were accepted. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../box-layout.h"
#include "../request.h"

#define MAX_FILES 64
/* Longer ones are the same parser once more; and a mutation may double what it gets. */
#define MAX_INPUT (256u * 1024)
#define MAX_ITEMS 4096

struct input {
  uint8_t *bytes;
  size_t length;
};

static struct input corpus[MAX_FILES];
static int corpus_count;
static struct request request;

static _Noreturn void stop(const char *what) {
  fprintf(stderr, "fuzz-request: %s\n", what);
  abort();
}

/* What the launcher takes for granted of a request that was accepted. */

static void check(int holds, const char *what) {
  if (!holds) stop(what);
}

/* `strlen` runs into a red zone where a NUL is missing. */
static size_t check_text(const char *text) {
  const char *from = (const char *)request.strings.bytes;
  check(text >= from && text < from + request.strings.length, "a text lies elsewhere");
  size_t length = strlen(text);
  check(text + length < from + request.strings.length, "a text has no end");
  return length;
}

static void check_path(const char *path) {
  check_text(path);
  check(path[0] == '/', "a path is not absolute");
}

static void check_list(char *const *list, int count, int most) {
  check(count >= 0 && count <= most && list[count] == NULL, "a list has no end");
  for (int at = 0; at < count; at += 1) check_text(list[at]);
}

static void check_cgroups(void) {
  check(request.cgroup_count <= MAX_CGROUPS && request.cgroup_file_count <= MAX_CGROUP_FILES, "there are too many cgroups");
  for (int at = 0; at < request.cgroup_count; at += 1) {
    const char *path = request.cgroups[at], *last = strrchr(path, '/');
    check_path(path);
    check(strncmp(path, "/sys/fs/cgroup/", 15) == 0 && strstr(path, "/../") == NULL, "a cgroup lies elsewhere");
    check(last != NULL && strncmp(last, "/palyra-", 8) == 0 && last[8] != 0, "a cgroup is not ours");
  }
  for (int at = 0; at < request.cgroup_file_count; at += 1) {
    const struct cgroup_file *file = &request.cgroup_files[at];
    check(file->group >= 0 && file->group < request.cgroup_count, "a file is of no cgroup");
    check(check_text(file->file) > 0 && strchr(file->file, '/') == NULL && strcmp(file->file, "..") != 0, "a file lies elsewhere");
    if (file->value != NULL) check_text(file->value);
    if (file->value != NULL) check(strcmp(file->file, "cgroup.procs") != 0, "a setting is none");
  }
}

static void check_mounts(void) {
  check(request.staged_count <= MAX_STAGED && request.landlock_count <= MAX_LANDLOCK, "there are too many paths");
  for (int at = 0; at < request.staged_count; at += 1) {
    const char *name = request.staged[at].name;
    check(check_text(name) > 0 && strchr(name, '/') == NULL && strcmp(name, "..") != 0, "a staged mount leaves its place");
    check_path(request.staged[at].source);
  }
  for (int at = 0; at < request.landlock_count; at += 1) check_path(request.landlock[at].path);
}

static void check_data(const struct input *input) {
  check(request.data_count <= MAX_DATA, "there is too much data");
  for (int at = 0; at < request.data_count; at += 1) {
    const struct data_file *data = &request.data[at];
    check(data->fd >= FIRST_DATA_FD && data->fd <= LAST_DATA_FD, "a descriptor is out of bounds");
    size_t from = (size_t)(data->bytes - input->bytes);
    check(from <= input->length && data->length <= input->length - from, "data lies elsewhere");
    for (int other = 0; other < at; other += 1) check(request.data[other].fd != data->fd, "a descriptor is there twice");
  }
}

static void check_tool(void) {
  check_path(request.tool_path);
  check_path(request.cwd);
  check(request.arg_count > 0, "there is no program");
}

/* No sandbox, no limits, and no tool's anything. */
static void check_gate(void) {
  check_tool();
  int more = request.wrapper_count + request.rlimit_count + request.tmpfs_count + request.bound_count + request.cgroup_count +
    request.cgroup_file_count + request.data_count + request.landlock_count;
  check(more == 0 && !request.has_terminal && !request.is_later && !request.has_listener, "a gate is more than a program");
  for (int at = 0; at < request.staged_count; at += 1) check(request.staged[at].flags == STAGED_READ_ONLY, "a gate could write");
  check(request.filter == NULL && request.wall_ms == 0 && request.output_bytes == 0, "a gate has limits");
}

/* In the gate's line it can be nothing but a label. */
static void check_label(void) {
  static const char known[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
  size_t length = check_text(request.label);
  check(length > 0 && length <= MAX_LABEL && strspn(request.label, known) == length, "a label is more than a label");
}

/* Whatever the arguments say: bubblewrap's have an end, and each step lies in the root that is put together. */
static void check_layout(void) {
  static struct layout layout;
  if (request.wrapper_count == 0 || !read_layout(&request, &layout)) return;
  int left = 0;
  while (layout.left[left] != NULL) left += 1;
  check(left >= 4 && left <= request.wrapper_count + 3, "bubblewrap gets other arguments");
  check(layout.count > 0 && layout.count <= MAX_STEPS, "there are too many steps");
  for (int at = 0; at < layout.count; at += 1) {
    const struct step *step = &layout.steps[at];
    check(step->at[0] == '/' && strstr(step->at, "/..") == NULL && strncmp(step->at, "/proc/", 6) != 0, "a step lies elsewhere");
    check(step->copy == -1 && step->mode <= 07777 && (step->kind == STEP_FILE) == (step->data != NULL), "a step is not whole");
  }
}

static void check_accepted(const struct input *input) {
  if (!request.is_later) check_tool();
  check_list(request.args, request.arg_count, MAX_ARGS);
  check_list(request.env, request.env_count, MAX_ENV);
  check_list(request.wrapper, request.wrapper_count, MAX_ARGS);
  check(request.tmpfs_count <= MAX_TMPFS && request.rlimit_count <= MAX_RLIMITS, "there are too many limits");
  for (int at = 0; at < request.tmpfs_count; at += 1) check_text(request.tmpfs[at]);
  for (int at = 0; at < request.rlimit_count; at += 1) {
    check(request.rlimits[at].soft <= request.rlimits[at].hard, "a soft limit is above its hard limit");
  }
  if (request.cpu_counter != NULL) check_path(request.cpu_counter);
  if (request.landlock_stamp != NULL) check_text(request.landlock_stamp);
  if (request.has_identity) check(request.uid != 0 && request.gid != 0 && request.uid != UINT32_MAX && request.gid != UINT32_MAX, "root");
  check(!request.has_way_out && request.label == NULL, "a way out is known before the word");
  check(!request.is_handed_over, "streams are handed over before the word");
  if (request.is_gate) check_gate();
  check_cgroups();
  check_mounts();
  check_data(input);
  check_layout();
}

/* A sandbox that was measured stays what it is: nothing comes with the word but a tool, and where its listener goes. */
static void check_word(int is_later) {
  if (is_later) check_tool();
  else check(request.tool_path == NULL && request.arg_count == 0 && request.env_count == 0 && request.cwd == NULL, "a tool is named twice");
  check((request.label != NULL) == request.has_way_out, "a way out is half of one");
  if (request.has_way_out) check_label();
  check(!request.has_listener && !request.is_gate, "a word changes the sandbox");
  check_list(request.args, request.arg_count, MAX_ARGS);
  check_list(request.env, request.env_count, MAX_ENV);
  int more = request.wrapper_count + request.rlimit_count + request.tmpfs_count + request.bound_count + request.staged_count +
    request.cgroup_count + request.cgroup_file_count + request.data_count + request.landlock_count;
  check(more == 0 && !request.has_identity && !request.has_terminal && !request.is_later, "a word changes the sandbox");
  check(request.cpu_counter == NULL && request.filter == NULL && request.landlock_stamp == NULL, "a word changes the sandbox");
  check(request.wall_ms == 0 && request.idle_ms == 0 && request.output_bytes == 0 && request.cpu_ms == 0, "a word changes limits");
}

/* What ends or stops a process without its say is no signal that is passed on, nor is a number that says no more than that. */
static int check_signal(const uint8_t *bytes, size_t length) {
  static const int passed[] = {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGTERM, SIGCONT, SIGTSTP};
  int number = parse_signal(bytes, length), is_known = number == 0;
  for (size_t at = 0; at < sizeof passed / sizeof passed[0]; at += 1) is_known |= number == passed[at];
  check(is_known, "a signal is passed on that is none of the list");
  check(number == 0 || (length == 1 && bytes[0] == number), "a signal is another one than was said");
  return number != 0;
}

static void check_all_signals(void) {
  int passed = 0;
  for (int number = 0; number < 256; number += 1) {
    const uint8_t bytes[] = {(uint8_t)number, 0, 0, 0};
    for (size_t length = 0; length <= sizeof bytes; length += 1) passed += check_signal(bytes, length);
  }
  check(passed == 8, "a signal of the list is not passed on");
}

/* What the stage is told of a word is a word of its own, without the way out. */
static int try_word(const struct input *exact, int is_later) {
  const char *fault = parse_word(exact->bytes, exact->length, is_later, &request);
  if (fault != NULL) check(strlen(fault) > 0, "a refusal says nothing");
  else check_word(is_later);
  static struct request of_stage;
  if (fault == NULL && is_later) {
    check(parse_tool(request.for_stage.bytes, request.for_stage.length, &of_stage) == NULL, "the stage does not understand a word");
    check(!of_stage.has_way_out && !of_stage.is_handed_over && of_stage.arg_count == request.arg_count, "the stage understands another word");
    release_request(&of_stage);
  }
  release_request(&request);
  return fault == NULL && exact->length > 0;
}

static int is_label(const uint8_t *label, size_t length) {
  uint8_t item[ITEM_HEADER + 4 + MAX_LABEL + 2] = {0};
  write_u16(item, ITEM_WAY_OUT);
  write_u32(item + 2, (uint32_t)(4 + length));
  memcpy(item + ITEM_HEADER + 4, label, length);
  const struct input word = {.bytes = item, .length = ITEM_HEADER + 4 + length};
  return try_word(&word, 0);
}

/* Of every byte, and of every length: mutations would have to be lucky. */
static void check_all_labels(void) {
  uint8_t label[MAX_LABEL + 2];
  int bytes = 0, lengths = 0;
  for (int byte = 0; byte < 256; byte += 1) {
    const uint8_t odd[] = {'a', (uint8_t)byte, 'z'};
    bytes += is_label(odd, sizeof odd);
  }
  memset(label, 'x', sizeof label);
  for (size_t length = 0; length <= sizeof label; length += 1) lengths += is_label(label, length);
  check(bytes == 65 && lengths == MAX_LABEL, "a label is refused, or none is");
}

/* In memory of exactly its size, so that one byte too far is one too far. */
static int try_parse(const uint8_t *bytes, size_t length) {
  struct input exact = {.bytes = malloc(length == 0 ? 1 : length), .length = length};
  if (exact.bytes == NULL) stop("there is no memory");
  if (length > 0) memcpy(exact.bytes, bytes, length);
  const char *fault = parse_request(exact.bytes, exact.length, &request);
  if (fault == NULL) check_accepted(&exact);
  else check(strlen(fault) > 0, "a refusal says nothing");
  release_request(&request);
  int is_word = try_word(&exact, 0) | try_word(&exact, 1);
  int is_signal = check_signal(exact.bytes, exact.length);
  free(exact.bytes);
  return fault == NULL || is_word || is_signal;
}

/* The mutations. */

static uint64_t state;

/* splitmix64: the same everywhere. */
static uint64_t random_bits(void) {
  uint64_t z = (state += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

static size_t below(size_t limit) { return limit == 0 ? 0 : (size_t)(random_bits() % limit); }

static size_t at_most(size_t value, size_t limit) { return value < limit ? value : limit; }

static uint8_t work[MAX_INPUT];
static size_t work_length;

static void flip_bits(void) {
  for (size_t left = 1 + below(8); left > 0 && work_length > 0; left -= 1) work[below(work_length)] ^= (uint8_t)(1u << below(8));
}

static void truncate_it(void) { work_length = below(work_length + 1); }

static void insert(size_t at, const uint8_t *bytes, size_t length) {
  if (length > MAX_INPUT - work_length) return;
  memmove(work + at + length, work + at, work_length - at);
  memcpy(work + at, bytes, length);
  work_length += length;
}

static void splice(void) {
  const struct input *other = &corpus[below((size_t)corpus_count)];
  size_t from = below(other->length), length = at_most(1 + below(512), other->length - from);
  insert(below(work_length + 1), other->bytes + from, length);
}

static void overwrite(void) {
  static const uint8_t odd[] = {0, 1, '.', '/', 0x7f, 0x80, 0xff};
  size_t from = below(work_length), length = at_most(1 + below(16), work_length - from);
  memset(work + from, odd[below(sizeof odd)], length);
}

/* Where the items of `work` begin; the end is one more. */
static size_t places[MAX_ITEMS + 1];

static size_t list_items(void) {
  struct cursor cursor = {.at = work, .left = work_length};
  struct item item;
  size_t count = 0;
  places[0] = 0;
  while (count < MAX_ITEMS && next_item(&cursor, &item) == 1) places[++count] = (size_t)(cursor.at - work);
  return count;
}

/* Of each kind as often as of any other: most items of a request are arguments of bubblewrap. */
static size_t some_item(size_t items) {
  uint16_t tag = (uint16_t)(1 + below(ITEM_WAY_OUT));
  size_t from = below(items);
  for (size_t step = 0; step < items; step += 1) {
    size_t which = (from + step) % items;
    if (read_u16(work + places[which]) == tag) return which;
  }
  return from;
}

static void edit_length(size_t items) {
  uint8_t *length = work + places[some_item(items)] + 2;
  uint32_t was = read_u32(length);
  const uint32_t odd[] = {0, was + 1, was - 1, 0x7fffffff, 0x80000000, 0xffffffff, (uint32_t)work_length, (uint32_t)random_bits()};
  write_u32(length, odd[below(sizeof odd / sizeof odd[0])]);
}

static void edit_tag(size_t items) { write_u16(work + places[some_item(items)], (uint16_t)below(40)); }

/* One more, or so many that a limit on their number is met exactly, or missed by one. */
static size_t times_for(size_t which, size_t items) {
  static const size_t limits[] = {MAX_CGROUPS, MAX_RLIMITS, MAX_DATA, MAX_STAGED, MAX_ENV, MAX_ARGS};
  if (below(4) != 0) return 1 + below(4);
  size_t limit = limits[below(sizeof limits / sizeof limits[0])] + below(2), there = 0;
  for (size_t at = 0; at < items; at += 1) there += read_u16(work + places[at]) == read_u16(work + places[which]);
  return limit > there ? limit - there : 1;
}

static void duplicate_item(size_t items) {
  static uint8_t copies[MAX_INPUT];
  size_t which = some_item(items), length = places[which + 1] - places[which], made = 0;
  for (size_t times = times_for(which, items); times > 0 && made + length <= MAX_INPUT - work_length; times -= 1) {
    memcpy(copies + made, work + places[which], length);
    /* Descriptors must differ, or the second one is where it ends. */
    if (read_u16(copies + made) == ITEM_DATA && length > ITEM_HEADER) copies[made + ITEM_HEADER] = (uint8_t)(FIRST_DATA_FD + 30 + made / length % 60);
    made += length;
  }
  insert(places[below(items + 1)], copies, made);
}

static void move_item(size_t items) {
  static uint8_t copy[MAX_INPUT];
  size_t which = some_item(items), from = places[which], length = places[which + 1] - from;
  memcpy(copy, work + from, length);
  memmove(work + from, work + from + length, work_length - from - length);
  work_length -= length;
  size_t left = list_items();
  insert(places[below(left + 1)], copy, length);
}

/* Shorter or longer, with its length as it is then: what is in it is wrong, not how it is wrapped. */
static void resize_item(size_t items) {
  static const char *const words[] = {"../", "/..", "/", ".", "..", "palyra-", "/sys/fs/cgroup/", "cgroup.procs", "\xff", ""};
  size_t which = some_item(items), from = places[which], length = places[which + 1] - from - ITEM_HEADER;
  size_t at = from + ITEM_HEADER + below(length + 1);
  if (below(2) == 0) {
    size_t gone = below(from + ITEM_HEADER + length - at + 1);
    memmove(work + at, work + at + gone, work_length - at - gone);
    work_length -= gone;
    write_u32(work + from + 2, (uint32_t)(length - gone));
  } else {
    const char *word = words[below(sizeof words / sizeof words[0])];
    size_t before = work_length;
    insert(at, (const uint8_t *)word, word[0] == 0 ? 1 : strlen(word));
    write_u32(work + from + 2, (uint32_t)(length + (work_length - before)));
  }
}

static void mutate(void) {
  size_t kind = below(9), items = kind < 4 ? 0 : list_items();
  if (kind >= 4 && items == 0) kind = 0;
  switch (kind) {
    case 0: flip_bits(); break;
    case 1: truncate_it(); break;
    case 2: splice(); break;
    case 3: overwrite(); break;
    case 4: edit_length(items); break;
    case 5: edit_tag(items); break;
    case 6: duplicate_item(items); break;
    case 7: move_item(items); break;
    default: resize_item(items);
  }
}

static void load(const char *path) {
  FILE *file = fopen(path, "rb");
  if (file == NULL || corpus_count >= MAX_FILES) stop("a file cannot be read");
  struct input *input = &corpus[corpus_count++];
  input->bytes = malloc(MAX_INPUT);
  if (input->bytes == NULL) stop("there is no memory");
  input->length = fread(input->bytes, 1, MAX_INPUT, file);
  if (!feof(file) && fgetc(file) != EOF) stop("a file is too long");
  fclose(file);
}

int main(int count, char **arguments) {
  if (count < 4) stop("SEED COUNT FILE...");
  state = strtoull(arguments[1], NULL, 10);
  unsigned long long mutations = strtoull(arguments[2], NULL, 10), accepted = 0;
  for (int at = 3; at < count; at += 1) load(arguments[at]);
  check_all_signals();
  check_all_labels();
  for (int at = 0; at < corpus_count; at += 1) {
    check(try_parse(corpus[at].bytes, corpus[at].length), "a file of the corpus is refused");
  }
  for (unsigned long long made = 0; made < mutations; made += 1) {
    const struct input *input = &corpus[made % (unsigned)corpus_count];
    memcpy(work, input->bytes, input->length);
    work_length = input->length;
    for (size_t left = 1 + below(4); left > 0; left -= 1) mutate();
    accepted += (unsigned)try_parse(work, work_length);
  }
  for (int at = 0; at < corpus_count; at += 1) free(corpus[at].bytes);
  printf("parsed %d files and %llu mutations of them, %llu of which were accepted\n", corpus_count, mutations, accepted);
  return 0;
}
