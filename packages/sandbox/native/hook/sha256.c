#include "sha256.h"

#include <string.h>

/* FIPS 180-4; the hook links no library, so that it starts in a millisecond and runs in any box. */

static const uint32_t K[64] = {
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
  0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
  0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
  0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
  0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
  0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
  0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
  0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t right(uint32_t word, int by) { return (word >> by) | (word << (32 - by)); }

static void digest_block(struct sha256 *hash, const uint8_t *block) {
  uint32_t w[64];
  for (int i = 0; i < 16; i++) {
    const uint8_t *at = block + i * 4;
    w[i] = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
  }
  for (int i = 16; i < 64; i++) {
    uint32_t low = right(w[i - 15], 7) ^ right(w[i - 15], 18) ^ (w[i - 15] >> 3);
    uint32_t high = right(w[i - 2], 17) ^ right(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + low + w[i - 7] + high;
  }
  uint32_t s[8];
  memcpy(s, hash->state, sizeof s);
  for (int i = 0; i < 64; i++) {
    uint32_t high = right(s[4], 6) ^ right(s[4], 11) ^ right(s[4], 25);
    uint32_t first = s[7] + high + ((s[4] & s[5]) ^ (~s[4] & s[6])) + K[i] + w[i];
    uint32_t low = right(s[0], 2) ^ right(s[0], 13) ^ right(s[0], 22);
    uint32_t second = low + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
    memmove(s + 1, s, 7 * sizeof s[0]);
    s[4] += first;
    s[0] = first + second;
  }
  for (int i = 0; i < 8; i++) hash->state[i] += s[i];
}

static void begin(struct sha256 *hash) {
  static const uint32_t START[8] = {
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
  };
  memcpy(hash->state, START, sizeof START);
  hash->length = 0;
  hash->held = 0;
}

static void add(struct sha256 *hash, const void *bytes, size_t length) {
  const uint8_t *at = bytes;
  hash->length += length;
  while (length > 0) {
    size_t piece = sizeof hash->block - hash->held;
    if (piece > length) piece = length;
    memcpy(hash->block + hash->held, at, piece);
    hash->held += piece;
    at += piece;
    length -= piece;
    if (hash->held < sizeof hash->block) continue;
    digest_block(hash, hash->block);
    hash->held = 0;
  }
}

static void end(struct sha256 *hash, uint8_t digest[SHA256_BYTES]) {
  uint64_t bits = hash->length * 8;
  static const uint8_t PADDING[64] = { 0x80 };
  size_t zeros = (hash->held < 56 ? 56 : 120) - hash->held;
  add(hash, PADDING, zeros);
  uint8_t length[8];
  for (int i = 0; i < 8; i++) length[i] = (uint8_t)(bits >> (56 - 8 * i));
  add(hash, length, sizeof length);
  for (int i = 0; i < 8; i++) {
    for (int b = 0; b < 4; b++) digest[i * 4 + b] = (uint8_t)(hash->state[i] >> (24 - 8 * b));
  }
}

void hmac_begin(struct hmac *mac, const uint8_t key[SHA256_BYTES], const char *purpose) {
  uint8_t inner_pad[64];
  memset(inner_pad, 0x36, sizeof inner_pad);
  memset(mac->outer_pad, 0x5c, sizeof mac->outer_pad);
  for (int i = 0; i < SHA256_BYTES; i++) {
    inner_pad[i] ^= key[i];
    mac->outer_pad[i] ^= key[i];
  }
  begin(&mac->inner);
  add(&mac->inner, inner_pad, sizeof inner_pad);
  // With the NUL at its end: no purpose is the beginning of another.
  add(&mac->inner, purpose, strlen(purpose) + 1);
}

void hmac_add(struct hmac *mac, const void *bytes, size_t length) { add(&mac->inner, bytes, length); }

void hmac_end(struct hmac *mac, uint8_t digest[SHA256_BYTES]) {
  uint8_t inner[SHA256_BYTES];
  end(&mac->inner, inner);
  struct sha256 outer;
  begin(&outer);
  add(&outer, mac->outer_pad, sizeof mac->outer_pad);
  add(&outer, inner, sizeof inner);
  end(&outer, digest);
}
