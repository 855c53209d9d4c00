/* A WASI command: sorts the lines of its input, without those that come twice. Build: see README.md. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 10000

static char *lines[MOST];

static int order(const void *one, const void *other) { return strcmp(*(char **)one, *(char **)other); }

int main(int count, char **arguments) {
  size_t size = 0;
  size_t found = 0;
  char *line = NULL;
  while (found < MOST && getline(&line, &size, stdin) >= 0) {
    line[strcspn(line, "\n")] = 0;
    lines[found++] = strdup(line);
  }
  qsort(lines, found, sizeof *lines, order);
  const char *prefix = count > 1 ? arguments[1] : "";
  FILE *out = fopen("/tmp/sorted.txt", "w+");
  if (out == NULL) return 1;
  for (size_t at = 0; at < found; at++)
    if (at == 0 || strcmp(lines[at], lines[at - 1]) != 0) fprintf(out, "%s%s\n", prefix, lines[at]);
  rewind(out);
  for (int letter = getc(out); letter != EOF; letter = getc(out)) putchar(letter);
  return 0;
}
