#include "wire.h"

#include <stdlib.h>
#include <string.h>

int next_item(struct cursor *cursor, struct item *item) {
  if (cursor->left == 0) return 0;
  if (cursor->left < ITEM_HEADER) return -1;
  item->tag = read_u16(cursor->at);
  item->length = read_u32(cursor->at + 2);
  if (item->length > cursor->left - ITEM_HEADER) return -1;
  item->bytes = cursor->at + ITEM_HEADER;
  cursor->at += ITEM_HEADER + (size_t)item->length;
  cursor->left -= ITEM_HEADER + (size_t)item->length;
  return 1;
}

uint16_t read_u16(const uint8_t *bytes) { return (uint16_t)(bytes[0] | (bytes[1] << 8)); }

uint32_t read_u32(const uint8_t *bytes) {
  return (uint32_t)read_u16(bytes) | ((uint32_t)read_u16(bytes + 2) << 16);
}

uint64_t read_u64(const uint8_t *bytes) {
  return (uint64_t)read_u32(bytes) | ((uint64_t)read_u32(bytes + 4) << 32);
}

void write_u16(uint8_t *bytes, uint16_t value) {
  bytes[0] = (uint8_t)value;
  bytes[1] = (uint8_t)(value >> 8);
}

void write_u32(uint8_t *bytes, uint32_t value) {
  write_u16(bytes, (uint16_t)value);
  write_u16(bytes + 2, (uint16_t)(value >> 16));
}

void write_u64(uint8_t *bytes, uint64_t value) {
  write_u32(bytes, (uint32_t)value);
  write_u32(bytes + 4, (uint32_t)(value >> 32));
}

/* SECURITY: T-19 — what is freed stays in memory, and a copy of us that becomes a tool can be looked into by who has its uid.
 * Larger ones the allocator gives back to the kernel. */
static void wipe_and_free(uint8_t *bytes, size_t room) {
  if (bytes != NULL && room <= MAX_STAGE) explicit_bzero(bytes, room);
  free(bytes);
}

/* Elsewhere, without leaving anything where it was. */
static uint8_t *moved(const struct buffer *buffer, size_t room) {
  if (buffer->room > MAX_STAGE) return realloc(buffer->bytes, room);
  uint8_t *bytes = malloc(room);
  if (bytes == NULL) return NULL;
  if (buffer->length > 0) memcpy(bytes, buffer->bytes, buffer->length);
  wipe_and_free(buffer->bytes, buffer->room);
  return bytes;
}

static int make_room(struct buffer *buffer, size_t more) {
  if (buffer->failed) return 0;
  if (buffer->room - buffer->length >= more) return 1;
  size_t room = buffer->room == 0 ? 4096 : buffer->room;
  while (room - buffer->length < more) room *= 2;
  uint8_t *bytes = moved(buffer, room);
  if (bytes == NULL) {
    buffer->failed = 1;
    return 0;
  }
  buffer->bytes = bytes;
  buffer->room = room;
  return 1;
}

uint8_t *room_for(struct buffer *buffer, size_t more) {
  return make_room(buffer, more) ? buffer->bytes + buffer->length : NULL;
}

void append(struct buffer *buffer, const void *bytes, size_t length) {
  if (length == 0 || !make_room(buffer, length)) return;
  memcpy(buffer->bytes + buffer->length, bytes, length);
  buffer->length += length;
}

static void append_item_header(struct buffer *buffer, uint16_t tag, size_t length) {
  uint8_t header[ITEM_HEADER];
  write_u16(header, tag);
  write_u32(header + 2, (uint32_t)length);
  append(buffer, header, sizeof header);
}

void append_item(struct buffer *buffer, uint16_t tag, const void *bytes, size_t length) {
  append_item_header(buffer, tag, length);
  append(buffer, bytes, length);
}

void append_named(struct buffer *buffer, uint16_t tag, const char *name, const void *text, size_t length) {
  size_t of_name = strlen(name) + 1;
  append_item_header(buffer, tag, of_name + length);
  append(buffer, name, of_name);
  append(buffer, text, length);
}

void release(struct buffer *buffer) {
  wipe_and_free(buffer->bytes, buffer->room);
  memset(buffer, 0, sizeof *buffer);
}
