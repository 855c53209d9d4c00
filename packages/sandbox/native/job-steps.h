/* The life of a job, step by step: asked for, measured, given the word, ended. */
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

/* What its processes say. */
void hear_stage(struct job *job);
void hear_keeper(struct job *job);

/* What a keeper left that was killed: once more, where there is such a job. */
void await_strays(struct job *job);
/* For all of them; 0 when there is nobody left. */
int end_strays(void);

/* Ends one that has had its time. */
void watch(struct job *job, uint64_t now);
/* Whether everybody is dead and nothing of what they said is left; then it is told, and what is empty can be put away. */
int has_ended(struct job *job);
void tell_end(struct job *job);

#endif
