/* Frames to and from palyrad, over the socket that it started us with. */
#ifndef PALYRA_FRAMES_H
#define PALYRA_FRAMES_H

#include "wire.h"

#define CONTROL 3
/* What waits to be read by palyrad; above it no tool's output is read, so the tools wait too. */
#define MAX_OUTGOING (1024u * 1024)

void send_frame(uint8_t kind, uint32_t job, const void *payload, size_t length);
/* A sentence, and what errno says where `why` is not 0. */
void send_failure(uint32_t job, const char *what, int why);
/* How much was not taken yet. */
size_t unsent_bytes(void);
/* As much as palyrad takes now. 0, or -1 when it is gone. */
int flush_frames(void);

struct frame_hearer {
  void (*frame)(uint8_t kind, uint32_t job, const uint8_t *payload, size_t length);
  /* The frame is skipped. */
  void (*too_long)(uint32_t job);
};

/* What has come so far. 0, or -1 when palyrad is gone. */
int hear_frames(const struct frame_hearer *hearer);

/* In a copy of us that others may look into: all but the frame that is being heard. */
void wipe_frames(void);

#endif
