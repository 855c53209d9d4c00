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

/* `127.0.0.1 PORT\nKEY\n`, exactly. */
bool read_place(const char *text, size_t length, struct place *place);

#endif
