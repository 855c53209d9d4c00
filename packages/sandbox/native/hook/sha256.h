#ifndef PALYRA_HOOK_SHA256_H
#define PALYRA_HOOK_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_BYTES 32

struct sha256 {
  uint32_t state[8];
  uint64_t length;
  uint8_t block[64];
  size_t held;
};

/* HMAC-SHA-256 with a key of SHA256_BYTES, fed piece by piece. */
struct hmac {
  struct sha256 inner;
  uint8_t outer_pad[64];
};

void hmac_begin(struct hmac *mac, const uint8_t key[SHA256_BYTES], const char *purpose);
void hmac_add(struct hmac *mac, const void *bytes, size_t length);
void hmac_end(struct hmac *mac, uint8_t digest[SHA256_BYTES]);

#endif
