/* The life of a job, step by step: asked for, measured, given the word. */
#ifndef PALYRA_JOB_STEPS_H
#define PALYRA_JOB_STEPS_H

#include "job.h"

/* What is there for all jobs. */
extern struct at_hand {
  struct host host;
  int hands;                /* where palyrad takes descriptors; -1: nowhere */
  struct buffer namespaces; /* our own, as facts; they do not change */
} at_hand;

/* What palyrad says. */
void on_start(uint32_t id, const uint8_t *payload, size_t length);
void on_go(struct job *job, const uint8_t *payload, size_t length);
void on_signal(struct job *job, const uint8_t *payload, size_t length);

/* What the process says that becomes the tool. */
void hear_stage(struct job *job);

#endif
