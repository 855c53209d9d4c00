#include "frames.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

static uint8_t *put(uint8_t *at, const void *bytes, size_t length) {
  memcpy(at, bytes, length);
  return at + length;
}

uint8_t *write_question(const struct question *question, const struct place *place, size_t *length) {
  size_t client = strlen(question->client), program = strlen(question->program), directory = strlen(question->directory);
  if (client > 64 || program > 4096 || directory > 4096 || question->message_length > MOST_MESSAGE) return NULL;
  size_t signed_length = 4 + NONCE_BYTES + 2 + client + 2 + program + 2 + directory + 4 + question->message_length;
  uint8_t *bytes = malloc(signed_length + SHA256_BYTES);
  if (bytes == NULL) return NULL;
  uint16_t client_length = htons((uint16_t)client), program_length = htons((uint16_t)program);
  uint16_t directory_length = htons((uint16_t)directory);
  uint32_t message_length = htonl((uint32_t)question->message_length);
  uint8_t *at = put(bytes, "PLH2", 4);
  at = put(at, question->nonce, NONCE_BYTES);
  at = put(at, &client_length, 2);
  at = put(at, question->client, client);
  at = put(at, &program_length, 2);
  at = put(at, question->program, program);
  at = put(at, &directory_length, 2);
  at = put(at, question->directory, directory);
  at = put(at, &message_length, 4);
  at = put(at, question->message, question->message_length);
  struct hmac mac;
  hmac_begin(&mac, place->key, "palyra.hook.ask");
  hmac_add(&mac, bytes, signed_length);
  hmac_end(&mac, at);
  *length = signed_length + SHA256_BYTES;
  return bytes;
}

static bool equal(const uint8_t *one, const uint8_t *other) {
  uint8_t differs = 0;
  for (size_t i = 0; i < SHA256_BYTES; i++) differs |= one[i] ^ other[i];
  return differs == 0;
}

static bool take(const uint8_t **at, size_t *left, const uint8_t **part, size_t *part_length) {
  uint32_t wire;
  if (*left < sizeof wire) return false;
  memcpy(&wire, *at, sizeof wire);
  *part_length = ntohl(wire);
  *at += sizeof wire;
  *left -= sizeof wire;
  if (*part_length > *left) return false;
  *part = *at;
  *at += *part_length;
  *left -= *part_length;
  return true;
}

static size_t length_at(const uint8_t *bytes, size_t at) {
  uint32_t wire;
  memcpy(&wire, bytes + at, sizeof wire);
  return ntohl(wire);
}

size_t answer_length(const uint8_t *bytes, size_t length) {
  if (length < 1 + 4) return 0;
  size_t err = 1 + 4 + length_at(bytes, 1);
  if (length < err + 4) return err > MOST_ANSWER ? err : 0;
  return err + 4 + length_at(bytes, err) + SHA256_BYTES;
}

// SECURITY: T-58 — whoever took palyrad's port has no key: what it says is no answer, and nothing of it is acted on.
bool read_answer(const uint8_t *bytes, size_t length, const struct question *question, const struct place *place,
                 struct answer *answer) {
  if (length < 1 + 4 + 4 + SHA256_BYTES) return false;
  size_t signed_length = length - SHA256_BYTES;
  uint8_t expected[SHA256_BYTES];
  struct hmac mac;
  hmac_begin(&mac, place->key, "palyra.hook.say");
  hmac_add(&mac, question->nonce, NONCE_BYTES);
  hmac_add(&mac, bytes, signed_length);
  hmac_end(&mac, expected);
  if (!equal(expected, bytes + signed_length)) return false;
  const uint8_t *at = bytes + 1;
  size_t left = signed_length - 1;
  answer->exit_code = bytes[0];
  return take(&at, &left, &answer->out, &answer->out_length) && take(&at, &left, &answer->err, &answer->err_length) &&
         left == 0;
}

size_t write_collection(const struct collection *collection, const struct place *place, uint8_t bytes[COLLECTION_BYTES]) {
  size_t call = strlen(collection->call);
  if (call == 0 || call > MOST_CALL) return 0;
  uint16_t call_length = htons((uint16_t)call);
  uint8_t *at = put(bytes, "PLC1", 4);
  at = put(at, collection->nonce, NONCE_BYTES);
  at = put(at, &call_length, 2);
  at = put(at, collection->call, call);
  struct hmac mac;
  hmac_begin(&mac, place->key, "palyra.hook.collect");
  hmac_add(&mac, bytes, (size_t)(at - bytes));
  hmac_end(&mac, at);
  return (size_t)(at - bytes) + SHA256_BYTES;
}

size_t told_length(const uint8_t head[TOLD_HEAD]) {
  bool is_known = head[0] >= TOLD_STDOUT && head[0] <= TOLD_END;
  return is_known ? length_at(head, 1) : MOST_TOLD + 1;
}

// SECURITY: T-58 — with its place among all that were told: none is left out, repeated or put before another.
bool is_told(const uint8_t *bytes, size_t payload_length, struct collection *collection, const struct place *place) {
  uint8_t nth[8];
  for (int i = 0; i < 8; i++) nth[i] = (uint8_t)(collection->told >> (56 - 8 * i));
  uint8_t expected[SHA256_BYTES];
  struct hmac mac;
  hmac_begin(&mac, place->key, "palyra.hook.told");
  hmac_add(&mac, collection->nonce, NONCE_BYTES);
  hmac_add(&mac, nth, sizeof nth);
  hmac_add(&mac, bytes, TOLD_HEAD + payload_length);
  hmac_end(&mac, expected);
  if (!equal(expected, bytes + TOLD_HEAD + payload_length)) return false;
  collection->told++;
  return true;
}

static int nibble(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  return -1;
}

bool read_place(const char *text, size_t length, struct place *place) {
  static const char HOST[] = "127.0.0.1 ";
  const char *at = text, *end = text + length;
  if (length < sizeof HOST - 1 || memcmp(at, HOST, sizeof HOST - 1) != 0) return false;
  at += sizeof HOST - 1;
  unsigned port = 0;
  int digits = 0;
  for (; at < end && *at >= '0' && *at <= '9' && digits < 5; at++, digits++) port = port * 10 + (unsigned)(*at - '0');
  if (digits == 0 || port == 0 || port > 65535 || at == end || *at++ != '\n') return false;
  if (end - at != 2 * SHA256_BYTES + 1 || end[-1] != '\n') return false;
  for (int i = 0; i < SHA256_BYTES; i++) {
    int high = nibble(at[2 * i]), low = nibble(at[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    place->key[i] = (uint8_t)(high << 4 | low);
  }
  place->port = (uint16_t)port;
  return true;
}
