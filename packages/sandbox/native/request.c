#include "request.h"

#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* Strings live in one buffer that moves while it grows, so until the end they are kept as offsets. */
struct parser {
  struct request *request;
  const char *fault;
};

static char *as_offset(size_t offset) { return (char *)(uintptr_t)(offset + 1); }

/* A copy with a NUL at its end. Text with a NUL inside would be one thing to us and another to the kernel. */
static char *text(struct parser *p, const uint8_t *bytes, size_t length) {
  if (memchr(bytes, 0, length) != NULL) {
    p->fault = "A text holds a NUL.";
    return NULL;
  }
  struct buffer *strings = &p->request->strings;
  size_t at = strings->length;
  append(strings, bytes, length);
  append(strings, "", 1);
  if (strings->failed) p->fault = "There is no memory for the request.";
  return as_offset(at);
}

static char *absolute(struct parser *p, const uint8_t *bytes, size_t length) {
  if (length == 0 || bytes[0] != '/') {
    p->fault = "A path is not absolute.";
    return NULL;
  }
  return text(p, bytes, length);
}

static void add_text(struct parser *p, const struct item *item, char **list, int *count, int limit) {
  if (*count >= limit) {
    p->fault = "There are too many arguments or variables.";
    return;
  }
  list[*count] = text(p, item->bytes, item->length);
  *count += 1;
}

static int exactly(struct parser *p, const struct item *item, uint32_t length) {
  if (item->length == length) return 1;
  p->fault = "An item has the wrong length.";
  return 0;
}

/* One path segment, and none of the two that mean something else. */
static int is_segment(const uint8_t *bytes, size_t length) {
  if (length == 0 || length > 200 || memchr(bytes, '/', length) != NULL) return 0;
  return !(bytes[0] == '.' && (length == 1 || (length == 2 && bytes[1] == '.')));
}

static int has_dots(const uint8_t *bytes, size_t length) {
  for (size_t at = 0; at + 2 < length + 1; at += 1) {
    if (bytes[at] != '.' || bytes[at + 1] != '.') continue;
    int begins = at == 0 || bytes[at - 1] == '/';
    int ends = at + 2 == length || bytes[at + 2] == '/';
    if (begins && ends) return 1;
  }
  return 0;
}

/* name, NUL, the rest. */
static int split(struct parser *p, const struct item *item, size_t skip, struct item *name, struct item *rest) {
  if (item->length < skip) {
    p->fault = "An item has the wrong length.";
    return 0;
  }
  const uint8_t *from = item->bytes + skip;
  size_t length = item->length - skip;
  const uint8_t *nul = memchr(from, 0, length);
  if (nul == NULL) {
    p->fault = "An item lacks its NUL.";
    return 0;
  }
  name->bytes = from;
  name->length = (uint32_t)(nul - from);
  rest->bytes = nul + 1;
  rest->length = (uint32_t)(length - name->length - 1);
  return 1;
}

static const int RESOURCES[] = {RLIMIT_CPU, RLIMIT_AS, RLIMIT_NOFILE, RLIMIT_FSIZE, RLIMIT_NPROC, RLIMIT_CORE, RLIMIT_DATA};

static void add_rlimit(struct parser *p, const struct item *item) {
  struct request *r = p->request;
  if (!exactly(p, item, 17)) return;
  uint8_t which = item->bytes[0];
  if (which >= sizeof RESOURCES / sizeof RESOURCES[0] || r->rlimit_count >= MAX_RLIMITS) {
    p->fault = "A limit is unknown.";
    return;
  }
  struct rlimit_request *limit = &r->rlimits[r->rlimit_count++];
  limit->resource = RESOURCES[which];
  limit->soft = read_u64(item->bytes + 1);
  limit->hard = read_u64(item->bytes + 9);
  if (limit->soft > limit->hard) p->fault = "A soft limit is above its hard limit.";
}

static void add_staged(struct parser *p, const struct item *item) {
  struct request *r = p->request;
  struct item name, source;
  if (!split(p, item, 1, &name, &source)) return;
  if (r->staged_count >= MAX_STAGED || !is_segment(name.bytes, name.length)) {
    p->fault = "A staged mount is malformed.";
    return;
  }
  struct staged_mount *mount = &r->staged[r->staged_count++];
  mount->flags = item->bytes[0];
  mount->name = text(p, name.bytes, name.length);
  mount->source = absolute(p, source.bytes, source.length);
}

/* SECURITY: T-40 — the launcher may be root where palyrad is not: it makes and removes nothing but our own cgroups. */
static const char CGROUP_ROOT[] = "/sys/fs/cgroup/";

static void add_cgroup(struct parser *p, const struct item *item) {
  struct request *r = p->request;
  size_t of_root = sizeof CGROUP_ROOT - 1;
  const uint8_t *last = NULL;
  for (size_t at = 0; at < item->length; at += 1) {
    if (item->bytes[at] == '/') last = item->bytes + at + 1;
  }
  size_t of_last = last == NULL ? 0 : (size_t)(item->bytes + item->length - last);
  if (r->cgroup_count >= MAX_CGROUPS || item->length <= of_root || memcmp(item->bytes, CGROUP_ROOT, of_root) != 0 ||
      has_dots(item->bytes, item->length) || of_last < 8 || memcmp(last, "palyra-", 7) != 0) {
    p->fault = "A cgroup is not one of ours.";
    return;
  }
  r->cgroups[r->cgroup_count++] = text(p, item->bytes, item->length);
}

/* SECURITY: T-40 — and sets nothing in them but limits. */
static int is_cgroup_file(const struct item *file, int is_setting) {
  static const char *const SETTINGS[] = {"memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "memory.swappiness",
    "pids.max", "cpu.cfs_period_us", "cpu.cfs_quota_us", "memory.max", "memory.swap.max", "memory.oom.group", "cpu.max", NULL};
  if (!is_segment(file->bytes, file->length)) return 0;
  if (!is_setting) return 1;
  for (const char *const *known = SETTINGS; *known != NULL; known += 1) {
    if (strlen(*known) == file->length && memcmp(*known, file->bytes, file->length) == 0) return 1;
  }
  return 0;
}

static void add_cgroup_file(struct parser *p, const struct item *item, int is_setting) {
  struct request *r = p->request;
  struct item file = *item, value = {0};
  if (is_setting && !split(p, item, 0, &file, &value)) return;
  if (r->cgroup_count == 0 || r->cgroup_file_count >= MAX_CGROUP_FILES || !is_cgroup_file(&file, is_setting)) {
    p->fault = "A file of a cgroup is unknown.";
    return;
  }
  struct cgroup_file *added = &r->cgroup_files[r->cgroup_file_count++];
  added->group = r->cgroup_count - 1;
  added->file = text(p, file.bytes, file.length);
  added->value = is_setting ? text(p, value.bytes, value.length) : NULL;
}

static void add_data(struct parser *p, const struct item *item) {
  struct request *r = p->request;
  uint32_t fd = item->length < 4 ? 0 : read_u32(item->bytes);
  if (r->data_count >= MAX_DATA || fd < FIRST_DATA_FD || fd > LAST_DATA_FD) {
    p->fault = "A descriptor for data is out of bounds.";
    return;
  }
  for (int at = 0; at < r->data_count; at += 1) {
    if (r->data[at].fd == (int)fd) p->fault = "A descriptor for data is there twice.";
  }
  r->data[r->data_count++] = (struct data_file){.fd = (int)fd, .bytes = item->bytes + 4, .length = item->length - 4};
}

static void add_landlock(struct parser *p, const struct item *item) {
  struct request *r = p->request;
  if (item->length < 2 || item->bytes[0] > 1 || r->landlock_count >= MAX_LANDLOCK) {
    p->fault = "A Landlock rule is malformed.";
    return;
  }
  struct landlock_rule *rule = &r->landlock[r->landlock_count++];
  rule->writable = item->bytes[0];
  rule->path = absolute(p, item->bytes + 1, item->length - 1);
}

static void add_watch(struct parser *p, const struct item *item) {
  if (!exactly(p, item, 32)) return;
  p->request->has_watch = 1;
  p->request->wall_ms = read_u64(item->bytes);
  p->request->idle_ms = read_u64(item->bytes + 8);
  p->request->output_bytes = read_u64(item->bytes + 16);
  p->request->cpu_ms = read_u64(item->bytes + 24);
}

/* SECURITY: T-40 — and reads nothing but counters: another file could hold secrets, or block us. */
static void add_cpu_counter(struct parser *p, const struct item *item) {
  size_t of_root = sizeof CGROUP_ROOT - 1;
  if (item->length < 2 + of_root || item->bytes[0] > 1 || memcmp(item->bytes + 1, CGROUP_ROOT, of_root) != 0 ||
      has_dots(item->bytes + 1, item->length - 1)) {
    p->fault = "A counter is malformed.";
    return;
  }
  p->request->cpu_counter_unit = item->bytes[0];
  p->request->cpu_counter = absolute(p, item->bytes + 1, item->length - 1);
}

static int is_label_byte(uint8_t byte) {
  return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') || byte == '_' || byte == '-' || byte == '.';
}

/* SECURITY: T-22 — it becomes part of a line that the gate reads, and must not be able to become more than a part of it. */
static void add_way_out(struct parser *p, const struct item *item) {
  struct request *r = p->request;
  int is_label = item->length > 4 && item->length <= 4 + MAX_LABEL && !r->has_way_out;
  for (uint32_t at = 4; is_label && at < item->length; at += 1) is_label = is_label_byte(item->bytes[at]);
  if (!is_label) {
    p->fault = "A way out is malformed.";
    return;
  }
  r->has_way_out = 1;
  r->gate = read_u32(item->bytes);
  r->label = text(p, item->bytes + 4, item->length - 4);
}

static void add_item(struct parser *p, const struct item *item) {
  struct request *r = p->request;
  switch (item->tag) {
    case ITEM_TOOL_PATH: r->tool_path = absolute(p, item->bytes, item->length); break;
    case ITEM_TOOL_ARG: add_text(p, item, r->args, &r->arg_count, MAX_ARGS); break;
    case ITEM_TOOL_ENV: add_text(p, item, r->env, &r->env_count, MAX_ENV); break;
    case ITEM_CWD: r->cwd = absolute(p, item->bytes, item->length); break;
    case ITEM_TERMINAL:
      if (!exactly(p, item, 4)) break;
      r->has_terminal = 1;
      r->rows = read_u16(item->bytes);
      r->columns = read_u16(item->bytes + 2);
      break;
    case ITEM_RLIMIT: add_rlimit(p, item); break;
    case ITEM_TMPFS:
      add_text(p, item, r->tmpfs, &r->tmpfs_count, MAX_TMPFS);
      break;
    case ITEM_BOUND: add_text(p, item, r->bound, &r->bound_count, MAX_BOUND); break;
    case ITEM_LATER:
      if (!exactly(p, item, 8)) break;
      r->is_later = 1;
      r->later_ms = read_u64(item->bytes);
      break;
    case ITEM_LISTENER: r->has_listener = exactly(p, item, 0); break;
    case ITEM_WRAPPER_ARG: add_text(p, item, r->wrapper, &r->wrapper_count, MAX_ARGS); break;
    case ITEM_IDENTITY:
      if (!exactly(p, item, 8)) break;
      r->has_identity = 1;
      r->uid = read_u32(item->bytes);
      r->gid = read_u32(item->bytes + 4);
      /* SECURITY: T-42 — no tool runs as root, whoever asks; and -1 means "leave it as it is" to the kernel. */
      if (r->uid == 0 || r->gid == 0 || r->uid == UINT32_MAX || r->gid == UINT32_MAX) p->fault = "A tool may not be root.";
      break;
    case ITEM_STAGED: add_staged(p, item); break;
    case ITEM_CGROUP: add_cgroup(p, item); break;
    case ITEM_CGROUP_SET: add_cgroup_file(p, item, 1); break;
    case ITEM_CGROUP_COUNTER: add_cgroup_file(p, item, 0); break;
    case ITEM_DATA: add_data(p, item); break;
    case ITEM_LANDLOCK_RULE: add_landlock(p, item); break;
    case ITEM_WATCH: add_watch(p, item); break;
    case ITEM_CPU_COUNTER: add_cpu_counter(p, item); break;
    case ITEM_STDIN: r->has_stdin = 1; break;
    case ITEM_FILTER:
      if (item->length == 0 || item->length % 8 != 0 || item->length > MAX_FILTER * 8) p->fault = "A filter is malformed.";
      r->filter = item->bytes;
      r->filter_length = item->length;
      break;
    case ITEM_LANDLOCK_STAMP: r->landlock_stamp = text(p, item->bytes, item->length); break;
    case ITEM_GATE: r->is_gate = exactly(p, item, 0); break;
    case ITEM_WAY_OUT: add_way_out(p, item); break;
    case ITEM_HAND_OVER: r->is_handed_over = exactly(p, item, 0); break;
    default: p->fault = "An item is unknown.";
  }
}

static void settle(const struct request *r, const void *slot) {
  char **text = (char **)(uintptr_t)slot;
  if (*text != NULL) *text = (char *)r->strings.bytes + ((uintptr_t)*text - 1);
}

static void settle_strings(struct request *r) {
  r->args[r->arg_count] = r->env[r->env_count] = r->wrapper[r->wrapper_count] = NULL;
  settle(r, &r->tool_path);
  settle(r, &r->cwd);
  settle(r, &r->cpu_counter);
  settle(r, &r->landlock_stamp);
  settle(r, &r->label);
  for (int at = 0; at < r->arg_count; at += 1) settle(r, &r->args[at]);
  for (int at = 0; at < r->env_count; at += 1) settle(r, &r->env[at]);
  for (int at = 0; at < r->tmpfs_count; at += 1) settle(r, &r->tmpfs[at]);
  for (int at = 0; at < r->bound_count; at += 1) settle(r, &r->bound[at]);
  for (int at = 0; at < r->wrapper_count; at += 1) settle(r, &r->wrapper[at]);
  for (int at = 0; at < r->cgroup_count; at += 1) settle(r, &r->cgroups[at]);
  for (int at = 0; at < r->landlock_count; at += 1) settle(r, &r->landlock[at].path);
  for (int at = 0; at < r->staged_count; at += 1) {
    settle(r, &r->staged[at].name);
    settle(r, &r->staged[at].source);
  }
  for (int at = 0; at < r->cgroup_file_count; at += 1) {
    settle(r, &r->cgroup_files[at].file);
    settle(r, &r->cgroup_files[at].value);
  }
}

/* SECURITY: T-03 — a sandbox that was compared with its plan stays that one: with the word comes a tool, and no more. */
static int names_tool(uint16_t tag) { return tag <= ITEM_CWD || tag == ITEM_STDIN; }

/* For the launcher: the stage hears nothing of it. */
static int is_of_word(uint16_t tag) { return tag == ITEM_WAY_OUT || tag == ITEM_HAND_OVER; }

enum payload { OF_REQUEST, OF_WORD, OF_TOOL };

static const char *misplaced(uint16_t tag, enum payload payload) {
  if (is_of_word(tag)) return payload == OF_WORD ? NULL : "A way out, and that streams are handed over, come with the word.";
  return payload == OF_REQUEST || names_tool(tag) ? NULL : "The word says more than what the tool is.";
}

static const char *parse(const uint8_t *bytes, size_t length, struct request *request, enum payload payload) {
  memset(request, 0, offsetof(struct request, args));
  struct parser parser = {.request = request, .fault = NULL};
  struct cursor cursor = {.at = bytes, .left = length};
  struct item item;
  int found;
  while ((found = next_item(&cursor, &item)) == 1) {
    const char *fault = misplaced(item.tag, payload);
    if (fault != NULL) return fault;
    add_item(&parser, &item);
    if (parser.fault != NULL) return parser.fault;
    int is_for_stage = payload == OF_REQUEST ? item.tag <= ITEM_LISTENER : payload == OF_WORD && !is_of_word(item.tag);
    if (is_for_stage) append_item(&request->for_stage, item.tag, item.bytes, item.length);
  }
  if (found < 0) return "The request is cut off.";
  if (request->for_stage.failed || request->strings.failed) return "There is no memory for the request.";
  settle_strings(request);
  return NULL;
}

static int has_tool(const struct request *request) {
  return request->tool_path != NULL && request->arg_count > 0 && request->cwd != NULL;
}

static int only_reads_staged(const struct request *r) {
  for (int at = 0; at < r->staged_count; at += 1) {
    if (r->staged[at].flags != STAGED_READ_ONLY) return 0;
  }
  return 1;
}

/* What is in a gate's way, or more than it needs: it has no sandbox and no limits, and is no tool. Its own program may be
 * handed over, to be read. */
static int is_plain(const struct request *r) {
  if (!only_reads_staged(r)) return 0;
  int more = r->wrapper_count + r->cgroup_count + r->data_count + r->landlock_count + r->tmpfs_count +
    r->bound_count + r->rlimit_count;
  return more == 0 && !r->has_terminal && !r->is_later && !r->has_listener && !r->has_watch && r->filter == NULL &&
    r->cpu_counter == NULL && r->landlock_stamp == NULL;
}

const char *parse_request(const uint8_t *bytes, size_t length, struct request *request) {
  const char *fault = parse(bytes, length, request, OF_REQUEST);
  if (fault == NULL && request->is_gate && !is_plain(request)) return "A gate is a program and nothing else.";
  if (fault == NULL && !request->is_later && !has_tool(request)) return "The request names no tool.";
  return fault;
}

const char *parse_word(const uint8_t *bytes, size_t length, int is_later, struct request *request) {
  const char *fault = parse(bytes, length, request, OF_WORD);
  if (fault != NULL) return fault;
  /* SECURITY: T-03 — what was decided and compared is what runs: nobody names another tool afterwards. */
  if (!is_later) return request->for_stage.length == 0 ? NULL : "The tool was named before.";
  return has_tool(request) ? NULL : "The word names no tool.";
}

const char *parse_tool(const uint8_t *bytes, size_t length, struct request *request) {
  const char *fault = parse(bytes, length, request, OF_TOOL);
  if (fault == NULL && !has_tool(request)) return "The word names no tool.";
  return fault;
}

/* SECURITY: T-40 — a list and no numbers: what no tool can hear, SIGKILL and SIGSTOP, would end or hold a job behind the back
 * of its keeper. */
static const uint8_t PASSED_SIGNALS[] = {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGTERM, SIGCONT, SIGTSTP};

int parse_signal(const uint8_t *bytes, size_t length) {
  if (length != 1 || memchr(PASSED_SIGNALS, bytes[0], sizeof PASSED_SIGNALS) == NULL) return 0;
  return bytes[0];
}

void release_request(struct request *request) {
  release(&request->for_stage);
  release(&request->strings);
}
