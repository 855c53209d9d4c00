/* The language between palyrad and the launcher. `src/launcher/wire.ts` is its other half; change both or neither.
 *
 * A frame is: length of the payload (u32), kind (u8), job (u32), payload. Numbers are little-endian.
 * A payload that has parts is a list of items: tag (u16), length (u32), bytes. */
#ifndef PALYRA_WIRE_H
#define PALYRA_WIRE_H

#include <stddef.h>
#include <stdint.h>

#define WIRE_VERSION 5
#define FRAME_HEADER 9
#define ITEM_HEADER 6
/* A request carries a seccomp program, small files, and copies of programs: 128 MiB of these (`src/bind/open-bound-file.ts`). */
#define MAX_FRAME (136u * 1024 * 1024)
/* What the stage tells and is told. */
#define MAX_STAGE (4u * 1024 * 1024)
#define MAX_CHUNK (64u * 1024)
/* Where a tool with a way out finds it, on its own loopback. */
#define PROXY_PORT 3128
/* A gate's IPC channel; its request says so in NODE_CHANNEL_FD. */
#define GATE_CHANNEL 7
#define MAX_LABEL 128

enum to_launcher {
  FRAME_START = 1,
  FRAME_GO = 2,
  FRAME_KILL = 3,
  FRAME_STDIN = 4,
  FRAME_STDIN_END = 5,
  FRAME_CREDIT = 6,
  FRAME_RESIZE = 7,
  FRAME_SIGNAL = 8, /* number u8, one of those that `parse_signal` knows */
};

enum from_launcher {
  FRAME_HELLO = 128,
  FRAME_FACTS = 129,
  FRAME_STDOUT = 130,
  FRAME_STDERR = 131,
  FRAME_STDIN_TAKEN = 132,
  FRAME_ENDED = 133,
  FRAME_FAILED = 134,
};

/* Items of FRAME_START. Those up to ITEM_LISTENER are also in the file that the stage reads. The first four and ITEM_STDIN are
 * also those of FRAME_GO, for a job that was started with ITEM_LATER; ITEM_WAY_OUT is FRAME_GO's alone, for one that was
 * started with ITEM_LISTENER, and so is ITEM_HAND_OVER. */
enum start_item {
  ITEM_TOOL_PATH = 1,
  ITEM_TOOL_ARG = 2,
  ITEM_TOOL_ENV = 3,
  ITEM_CWD = 4,
  ITEM_TERMINAL = 5, /* rows u16, columns u16 */
  ITEM_RLIMIT = 6,   /* resource u8, soft u64, hard u64 */
  ITEM_TMPFS = 7,    /* a path in the sandbox; whether it is full is looked at when the tool has ended */
  ITEM_BOUND = 8,    /* a path in the sandbox; what is there is told before the start */
  ITEM_LATER = 9,    /* ms u64: what the tool is comes with the word, for which it waits no longer than this */
  ITEM_LISTENER = 10, /* empty: opens a listener before the tool, and hands it over with the facts */
  ITEM_WRAPPER_ARG = 16,
  ITEM_IDENTITY = 17,       /* uid u32, gid u32 */
  ITEM_STAGED = 18,         /* flags u8, name, NUL, source */
  ITEM_CGROUP = 19,         /* directory; the next two belong to the last one named */
  ITEM_CGROUP_SET = 20,     /* file, NUL, value */
  ITEM_CGROUP_COUNTER = 21, /* file */
  ITEM_DATA = 22,           /* fd u32, bytes */
  ITEM_LANDLOCK_RULE = 23,  /* access u8, path */
  ITEM_WATCH = 24,          /* wall ms u64, idle ms u64, output bytes u64, cpu ms u64 (0: not watched) */
  ITEM_CPU_COUNTER = 25,    /* unit u8 (0 nanoseconds, 1 cpu.stat), path */
  ITEM_STDIN = 26,          /* empty: the caller will send input */
  ITEM_LANDLOCK_STAMP = 27, /* changes when the files behind the rules may be others */
  ITEM_FILTER = 28,         /* a seccomp program, for a tool without a wrapper to load it */
  ITEM_GATE = 29,           /* empty: no tool, but a program that gets listeners; with the first four, identity and input alone */
  ITEM_WAY_OUT = 30,        /* gate u32 (a job), label */
  ITEM_HAND_OVER = 31,      /* empty: palyrad gets our ends of its input and output, and speaks with it without us */
};

/* Items of FRAME_FACTS. */
enum facts_item {
  FACT_INSIDE = 1,         /* name, NUL, text */
  FACT_OUTSIDE_PROCESS = 2, /* pid u32; the next ones belong to it */
  FACT_OUTSIDE = 3,        /* name, NUL, text */
  FACT_HOST_NAMESPACE = 4, /* name, NUL, text */
  FACT_CGROUP_FILE = 5,    /* path, NUL, text */
  FACT_LANDLOCK_RULES = 6, /* u32 */
  FACT_LISTENER = 7,       /* text: address and network namespace of what was handed over; empty when it is no listener */
};

/* Items of FRAME_ENDED. */
enum ended_item {
  ENDED_STATUS = 1,      /* code u32, signal u32, exact u8, reason u8 */
  ENDED_USAGE = 2,       /* user us, system us, max rss bytes, wall us, output bytes: u64 each */
  ENDED_CGROUP_FILE = 3, /* path, NUL, text */
  ENDED_STARTED = 4,     /* u8: whether the tool's first instruction was reached */
  ENDED_FULL = 5,        /* u8: whether a tmpfs had no room left */
};

/* Why we ended it; 0: it ended by itself. */
enum reason {
  REASON_NONE = 0,
  REASON_WALL = 1,
  REASON_IDLE = 2,
  REASON_OUTPUT = 3,
  REASON_CANCELLED = 4,
  REASON_CPU = 5,
};

struct cursor {
  const uint8_t *at;
  size_t left;
};

struct item {
  uint16_t tag;
  const uint8_t *bytes;
  uint32_t length;
};

/* 1: an item, 0: the end, -1: malformed. */
int next_item(struct cursor *cursor, struct item *item);

uint16_t read_u16(const uint8_t *bytes);
uint32_t read_u32(const uint8_t *bytes);
uint64_t read_u64(const uint8_t *bytes);
void write_u16(uint8_t *bytes, uint16_t value);
void write_u32(uint8_t *bytes, uint32_t value);
void write_u64(uint8_t *bytes, uint64_t value);

/* Bytes that grow; `failed` stays set once memory ran out, and is looked at before anything is sent. */
struct buffer {
  uint8_t *bytes;
  size_t length;
  size_t room;
  int failed;
};

/* Behind what is in it, for somebody else to fill; NULL without memory. */
uint8_t *room_for(struct buffer *buffer, size_t more);
void append(struct buffer *buffer, const void *bytes, size_t length);
void append_item(struct buffer *buffer, uint16_t tag, const void *bytes, size_t length);
/* name, NUL, text. */
void append_named(struct buffer *buffer, uint16_t tag, const char *name, const void *text, size_t length);
void release(struct buffer *buffer);

#endif
