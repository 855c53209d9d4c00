#include "pass-data.h"

#include <fcntl.h>
#include <unistd.h>

#include "texts.h"

static int is_in_root(const struct data_file *data, const struct layout *layout) {
  for (int at = 0; layout != NULL && at < layout->count; at += 1) {
    if (layout->steps[at].data == data) return 1;
  }
  return 0;
}

static int pass(const char *name, const void *bytes, size_t length, int number) {
  int made = memory_file(name, bytes, length);
  if (made < 0) return -1;
  /* The lowest number that is free, which may be the one that is wanted. */
  if (made == number) return fcntl(made, F_SETFD, 0);
  int passed = dup2(made, number);
  close(made);
  return passed < 0 ? -1 : 0;
}

int pass_data(const struct request *request, const struct layout *layout) {
  if (pass("palyra-stage", request->for_stage.bytes, request->for_stage.length, STAGE_FILE) != 0) return -1;
  for (int at = 0; at < request->data_count; at += 1) {
    const struct data_file *data = &request->data[at];
    if (is_in_root(data, layout)) continue;
    if (pass("palyra-data", data->bytes, data->length, data->fd) != 0) return -1;
  }
  return 0;
}
