#include "gate.h"

#include <stdio.h>

#include "pass-handle.h"

static int is_open(const struct job *gate) {
  return gate != NULL && gate->is_gate && gate->fds.channel >= 0 && gate->phase >= JOB_STARTING && !gate->is_killed && !gate->has_report;
}

const char *pass_listener(struct job *gate, int listener, const char *label) {
  /* SECURITY: T-22 — a number that is no gate's, or of one that is closed, gets nothing, and the tool does not run. */
  if (!is_open(gate)) return "The gate is closed.";
  /* SECURITY: T-22 — the label is of letters, digits and `_.-` (request.c): it ends where it ends. */
  char line[96 + MAX_LABEL];
  int length = snprintf(line, sizeof line, "{\"cmd\":\"NODE_HANDLE\",\"type\":\"net.Server\",\"msg\":{\"label\":\"%s\"}}\n", label);
  if (length <= 0 || (size_t)length >= sizeof line) return "The gate takes no listener.";
  return pass_handle(gate->fds.channel, line, (size_t)length, listener) == 0 ? NULL : "The gate takes no listener.";
}
