/* What palyrad asks for, taken apart and checked. Everything points into the frame it came in. */
#ifndef PALYRA_REQUEST_H
#define PALYRA_REQUEST_H

#include "wire.h"

#define MAX_ARGS 4096
#define MAX_ENV 1024
#define MAX_STAGED 64
#define MAX_CGROUPS 8
#define MAX_CGROUP_FILES 64
#define MAX_DATA 32
#define MAX_LANDLOCK 4096
#define MAX_FILTER 4096
#define MAX_RLIMITS 16
#define MAX_TMPFS 8
#define MAX_BOUND 128

/* Descriptors of a wrapped tool that are ours; those of ITEM_DATA begin above. */
#define STAGE_SOCKET 3
#define STAGE_FILE 4
#define STAGE_PROGRAM 5
#define FIRST_DATA_FD 10
#define LAST_DATA_FD 99

#define STAGED_READ_ONLY 1
#define STAGED_IDMAP 2

struct rlimit_request {
  int resource;
  uint64_t soft, hard;
};

struct staged_mount {
  const char *name, *source;
  uint8_t flags;
};

struct cgroup_file {
  int group;
  const char *file;
  const char *value; /* NULL: a counter that is only read */
};

struct data_file {
  int fd;
  const uint8_t *bytes;
  uint32_t length;
};

struct landlock_rule {
  const char *path;
  uint8_t writable;
};

struct request {
  char *tool_path;
  int arg_count, env_count, wrapper_count;
  char *cwd;
  int has_terminal, has_identity, has_stdin, is_later, has_listener, is_gate, has_watch;
  uint64_t later_ms;
  uint16_t rows, columns;
  uint32_t uid, gid;
  struct rlimit_request rlimits[MAX_RLIMITS];
  int rlimit_count;
  char *tmpfs[MAX_TMPFS];
  int tmpfs_count;
  char *bound[MAX_BOUND];
  int bound_count;
  struct staged_mount staged[MAX_STAGED];
  int staged_count;
  const char *cgroups[MAX_CGROUPS];
  int cgroup_count;
  struct cgroup_file cgroup_files[MAX_CGROUP_FILES];
  int cgroup_file_count;
  struct data_file data[MAX_DATA];
  int data_count;
  int landlock_count;
  const char *landlock_stamp;
  /* struct sock_filter, 8 bytes each */
  const uint8_t *filter;
  uint32_t filter_length;
  uint64_t wall_ms, idle_ms, output_bytes, cpu_ms;
  const char *cpu_counter;
  uint8_t cpu_counter_unit;
  /* With a word: where the listener goes, and what it is called there. */
  int has_way_out, is_handed_over;
  uint32_t gate;
  const char *label;
  /* The items that the stage needs, as they came. */
  struct buffer for_stage;
  /* Copies of all strings, each with its NUL. */
  struct buffer strings;
  /* From here on nothing is wiped: counted above, with NULL behind the last word. To touch them all takes longer than to read
   * the facts, and the stage has them anew each time. */
  char *args[MAX_ARGS + 1];
  char *env[MAX_ENV + 1];
  char *wrapper[MAX_ARGS + 1];
  struct landlock_rule landlock[MAX_LANDLOCK];
};

/* NULL, or why it is refused: a static sentence. `release_request` afterwards in either case. */
const char *parse_request(const uint8_t *bytes, size_t length, struct request *request);
/* The same for what comes with the word: a tool where that was left open (`is_later`), perhaps a way out, perhaps that its streams
 * are handed over, and nothing that was measured and compared before. `for_stage` is the tool alone. */
const char *parse_word(const uint8_t *bytes, size_t length, int is_later, struct request *request);
/* And for what the stage is told of it: the tool. */
const char *parse_tool(const uint8_t *bytes, size_t length, struct request *request);
/* The signal that shall be passed on to a tool; 0 for whatever is none of those. */
int parse_signal(const uint8_t *bytes, size_t length);
void release_request(struct request *request);

#endif
