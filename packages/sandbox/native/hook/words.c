#include "words.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "reach.h"

void tell(const char *format, ...) {
  char text[1024];
  va_list words;
  va_start(words, format);
  int length = vsnprintf(text, sizeof text, format, words);
  va_end(words);
  if (length < 0) return;
  write_all(STDERR_FILENO, (const uint8_t *)text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
}

bool read_number(const char *text, unsigned long most, unsigned long *number) {
  *number = 0;
  for (; *text >= '0' && *text <= '9'; text++) {
    *number = *number * 10 + (unsigned long)(*text - '0');
    if (*number > most) return false;
  }
  return *text == '\0' && *number > 0;
}
