/* Memory. What a request and its facts take as a rule has its place in the program, and is not given back: it ends in a moment. What
 * does not fit there is a mapping of its own, and given back. When the kernel has no more, there is none: nobody crashes. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "system-call.h"

#define PLACE_SIZE (256 * 1024)

/* In front of each piece, which is aligned for everything by it. */
struct head {
  _Alignas(16) size_t size; /* with this */
};

static _Alignas(16) uint8_t place[PLACE_SIZE];
static size_t taken;

static struct head *take(size_t size) {
  if (size <= PLACE_SIZE - taken) {
    taken += size;
    return (struct head *)(place + taken - size);
  }
  long at = system_call(SYS_mmap, 0, (long)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return at < 0 && at >= -4095 ? NULL : (struct head *)at;
}

void *malloc(size_t wanted) {
  const size_t most = PTRDIFF_MAX - 2 * sizeof(struct head);
  size_t size = wanted > most ? 0 : (wanted + 2 * sizeof(struct head) - 1) & ~(sizeof(struct head) - 1);
  struct head *head = size == 0 ? NULL : take(size);
  if (head == NULL) {
    errno = ENOMEM;
    return NULL;
  }
  head->size = size;
  return head + 1;
}

void free(void *piece) {
  if (piece == NULL) return;
  struct head *head = (struct head *)piece - 1;
  int is_mapped = (uintptr_t)head < (uintptr_t)place || (uintptr_t)head >= (uintptr_t)place + PLACE_SIZE;
  if (is_mapped) system_call(SYS_munmap, (long)head, (long)head->size, 0, 0, 0, 0);
}

void *realloc(void *piece, size_t wanted) {
  void *larger = malloc(wanted);
  if (larger == NULL || piece == NULL) return larger;
  size_t had = ((struct head *)piece - 1)->size - sizeof(struct head);
  memcpy(larger, piece, had < wanted ? had : wanted);
  free(piece);
  return larger;
}
