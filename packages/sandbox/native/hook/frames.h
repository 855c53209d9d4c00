#ifndef PALYRA_HOOK_FRAMES_H
#define PALYRA_HOOK_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sha256.h"

#define NONCE_BYTES 32
#define MOST_MESSAGE (8u * 1024 * 1024)
#define MOST_ANSWER (16u * 1024 * 1024)

/* Where palyrad is, and the key by which each knows the other. */
struct place {
  uint16_t port;
  uint8_t key[SHA256_BYTES];
};

struct question {
  const char *client;
  const char *program;
  /* Where the agent runs its hooks; empty when that is not known. */
  const char *directory;
  const uint8_t *message;
  size_t message_length;
  uint8_t nonce[NONCE_BYTES];
};

struct answer {
  int exit_code;
  const uint8_t *out;
  size_t out_length;
  const uint8_t *err;
  size_t err_length;
};

/* A buffer to send, to be freed; NULL when it does not fit. apps/daemon/src/agents/hook-frames.ts has the same. */
uint8_t *write_question(const struct question *question, const struct place *place, size_t *length);

/*
 * How many bytes the answer has that begins like this, or says that it has, which may be more than MOST_ANSWER; 0 while that is
 * not known. Nothing is proven by it: read_answer does that.
 */
size_t answer_length(const uint8_t *bytes, size_t length);

/* Whether these bytes are a whole answer to this question, signed; only then is `answer` filled, with pointers into them. */
bool read_answer(const uint8_t *bytes, size_t length, const struct question *question, const struct place *place,
                 struct answer *answer);

/* Who comes for a command that was decided: the id of it and nothing else. */
struct collection {
  const char *call;
  uint8_t nonce[NONCE_BYTES];
  /* How many frames were told so far, each of which counts in the signature of the next. */
  uint64_t told;
};

#define MOST_CALL 64
#define MOST_TOLD (64u * 1024)
#define TOLD_HEAD (1 + 4)
#define COLLECTION_BYTES (4 + NONCE_BYTES + 2 + MOST_CALL + SHA256_BYTES)

enum told_kind { TOLD_STDOUT = 1, TOLD_STDERR = 2, TOLD_END = 3 };

/* How many bytes were written; 0 when it does not fit. apps/daemon/src/agents/collect-frames.ts has the same. */
size_t write_collection(const struct collection *collection, const struct place *place, uint8_t bytes[COLLECTION_BYTES]);

/* How long the payload is that this head begins; more than MOST_TOLD when it is none of ours. Nothing is proven by it. */
size_t told_length(const uint8_t head[TOLD_HEAD]);

/* Whether these bytes, a head, its payload and a signature, are the next that palyrad tells this collection. */
bool is_told(const uint8_t *bytes, size_t payload_length, struct collection *collection, const struct place *place);

/* `127.0.0.1 PORT\nKEY\n`, exactly. */
bool read_place(const char *text, size_t length, struct place *place);

#endif
