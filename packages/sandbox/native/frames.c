#include "frames.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct buffer incoming, outgoing;
static uint64_t skip; /* of a frame that is too long to be one of ours */
/* The frame that is being heard, in `incoming`. */
static size_t heard_from, heard_to;

void send_frame(uint8_t kind, uint32_t job, const void *payload, size_t length) {
  uint8_t header[FRAME_HEADER];
  write_u32(header, (uint32_t)length);
  header[4] = kind;
  write_u32(header + 5, job);
  append(&outgoing, header, sizeof header);
  append(&outgoing, payload, length);
  /* Without memory there is no way to say so: end, and every tool with us. */
  if (outgoing.failed) _exit(70);
}

void send_failure(uint32_t job, const char *what, int why) {
  char text[320];
  int length = why == 0 ? snprintf(text, sizeof text, "%s", what) : snprintf(text, sizeof text, "%s: %s", what, strerror(why));
  if (length >= (int)sizeof text) length = (int)sizeof text - 1;
  send_frame(FRAME_FAILED, job, text, (size_t)length);
}

/* SECURITY: T-19 — what is done with is wiped at once, so that behind the length of either buffer there is nothing but zeros. To
 * wipe all of them in each process that becomes a tool's would copy every page first. */
static void drop(struct buffer *buffer, size_t done) {
  size_t left = buffer->length - done;
  if (done == 0) return;
  memmove(buffer->bytes, buffer->bytes + done, left);
  explicit_bzero(buffer->bytes + left, done);
  buffer->length = left;
}

size_t unsent_bytes(void) { return outgoing.length; }

int flush_frames(void) {
  size_t sent = 0;
  while (sent < outgoing.length) {
    ssize_t written = send(CONTROL, outgoing.bytes + sent, outgoing.length - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (written < 0) return -1;
    sent += (size_t)written;
  }
  drop(&outgoing, sent);
  return 0;
}

static void take_frames(const struct frame_hearer *hearer) {
  size_t at = 0;
  while (skip == 0 && incoming.length - at >= FRAME_HEADER) {
    const uint8_t *header = incoming.bytes + at;
    uint32_t length = read_u32(header), id = read_u32(header + 5);
    if (length > MAX_FRAME) {
      hearer->too_long(id);
      skip = length;
      at += FRAME_HEADER;
      break;
    }
    if (incoming.length - at - FRAME_HEADER < length) break;
    heard_from = at;
    heard_to = at += FRAME_HEADER + (size_t)length;
    hearer->frame(header[4], id, header + FRAME_HEADER, length);
  }
  heard_from = heard_to = 0;
  drop(&incoming, at);
  /* A copy of a program was in it: what is kept is copied by every fork. */
  if (incoming.length == 0 && incoming.room > MAX_STAGE) release(&incoming);
}

static void skip_bytes(void) {
  size_t skipped = skip < incoming.length ? (size_t)skip : incoming.length;
  drop(&incoming, skipped);
  skip -= skipped;
}

int hear_frames(const struct frame_hearer *hearer) {
  uint8_t *room = room_for(&incoming, MAX_CHUNK);
  if (room == NULL) _exit(70);
  ssize_t got = recv(CONTROL, room, MAX_CHUNK, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  if (got <= 0) return -1;
  incoming.length += (size_t)got;
  do {
    skip_bytes();
    take_frames(hearer);
  } while (skip > 0 && incoming.length > 0);
  return 0;
}

void wipe_frames(void) {
  if (incoming.bytes != NULL) {
    explicit_bzero(incoming.bytes, heard_from);
    explicit_bzero(incoming.bytes + heard_to, incoming.length - heard_to);
  }
  if (outgoing.bytes != NULL) explicit_bzero(outgoing.bytes, outgoing.length);
}
