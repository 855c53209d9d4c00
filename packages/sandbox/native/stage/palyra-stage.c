/* palyra-stage: what bubblewrap executes, and what becomes the tool. The same sources as `palyra-launcher stage`, without a C library
 * (bare/). */
#include <string.h>

#include "../become-tool.h"
#include "../wire.h"

int main(int count, char **arguments) {
  if (count != 2) return 126;
  if (strcmp(arguments[1], "stage") == 0) return stage_main();
  if (strcmp(arguments[1], "version") == 0) return WIRE_VERSION;
  return 126;
}
