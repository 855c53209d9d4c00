#ifndef PALYRA_HOOK_REACH_H
#define PALYRA_HOOK_REACH_H

#include "frames.h"

/* The way to palyrad, or why there is none. */
struct way {
  struct place place;
  int fd;
  /* NULL when there is one. */
  const char *why;
  const char *fix;
  /* It is known where palyrad is, and no connection comes about: it is gone, or something keeps us from it. */
  bool is_cut_off;
};

/* Where palyrad is: in its home, or, in a box, at the listener that is its own. One of them is NULL. */
struct whereabouts {
  const char *home;
  const char *listener;
};

extern const char UP[];
extern const char DOCTOR[];

/* Up to palyrad's door. Nothing of the agent's has been said by then. */
struct way reach(const struct whereabouts *where);

/* palyrad does so with whoever says nothing for ten seconds: an agent may take longer to say what it wants. */
bool is_hung_up(int fd);

bool write_all(int fd, const uint8_t *bytes, size_t length);

#endif
