/* What bubblewrap's arguments ask of the file system, taken apart: most of it the launcher can do itself, in less time. */
#ifndef PALYRA_BOX_LAYOUT_H
#define PALYRA_BOX_LAYOUT_H

#include "request.h"

#define MAX_STEPS 512

/* Where the root is put together, and where bubblewrap finds it: a directory that every host has, in which nothing of a
 * sandbox and no part of bubblewrap lies. What it covers, it covers for bubblewrap alone. */
#define BOX_PLACE "/sys"

/* The three words behind bubblewrap's program that take the root from there. */
#define LEFT_ROOT 1

enum step_kind { STEP_BIND, STEP_TMPFS, STEP_FILE, STEP_LINK, STEP_DIRECTORY, STEP_DEVPTS, STEP_READ_ONLY };

struct step {
  enum step_kind kind;
  char *at;
  const char *source; /* of a mount; what a link says */
  int is_read_only, has_devices;
  uint32_t mode;
  uint64_t size; /* 0: the least that makes sense for mount points */
  const struct data_file *data;
  int copy; /* the detached mount, as soon as there is one; -1 before */
};

struct layout {
  int has_network; /* said before they are taken apart: bubblewrap has to make none */
  struct step steps[MAX_STEPS];
  int count;
  /* Names below /dev, which no argument spells out. */
  char names[4096];
  size_t names_length;
  /* For bubblewrap: what it alone can do, and where it finds the rest. Its program, its options, and the command behind them. */
  char *left[MAX_ARGS + 4];
  int command; /* where that begins */
};

/* 1, or 0 when something in them is not understood: then all of it is bubblewrap's. */
int read_layout(const struct request *request, struct layout *layout);

#endif
