/* What a tool reads and writes, with credit in both directions. */
#ifndef PALYRA_JOB_STREAMS_H
#define PALYRA_JOB_STREAMS_H

#include "job.h"

/* Of the tool: whether it may be read now, and reading it. */
int wants_output(const struct job *job, int fd);
void take_output(struct job *job, int *fd, uint8_t kind);

/* For the tool: where it goes, and as much of it as goes now. */
int input_fd(const struct job *job);
void give_input(struct job *job);

/* What palyrad says about them. */
void on_input(struct job *job, const uint8_t *bytes, size_t length);
void on_input_end(struct job *job);
void on_credit(struct job *job, const uint8_t *payload, size_t length);
void on_resize(const struct job *job, const uint8_t *payload, size_t length);

#endif
