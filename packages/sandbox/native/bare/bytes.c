/* What the compiler and our sources ask of <string.h> and <stdio.h>. Copied and filled by words: facts are copied several times. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

void *memcpy(void *restrict into, const void *restrict from, size_t length) {
  uint8_t *to = into;
  const uint8_t *at = from;
  for (; length >= sizeof(uint64_t); length -= sizeof(uint64_t), to += sizeof(uint64_t), at += sizeof(uint64_t)) {
    __builtin_memcpy(to, at, sizeof(uint64_t));
  }
  for (; length > 0; length -= 1) *to++ = *at++;
  return into;
}

void *memmove(void *into, const void *from, size_t length) {
  uint8_t *to = into;
  const uint8_t *at = from;
  if ((uintptr_t)to < (uintptr_t)at) {
    for (; length > 0; length -= 1) *to++ = *at++;
  } else {
    for (; length > 0; length -= 1) to[length - 1] = at[length - 1];
  }
  return into;
}

void *memset(void *into, int value, size_t length) {
  uint8_t *to = into;
  const uint64_t word = 0x0101010101010101u * (uint8_t)value;
  for (; length >= sizeof word; length -= sizeof word, to += sizeof word) __builtin_memcpy(to, &word, sizeof word);
  for (; length > 0; length -= 1) *to++ = (uint8_t)value;
  return into;
}

void explicit_bzero(void *bytes, size_t length) {
  memset(bytes, 0, length);
  __asm__ volatile("" : : "r"(bytes) : "memory");
}

int memcmp(const void *one, const void *other, size_t length) {
  const uint8_t *left = one, *right = other;
  for (; length > 0; length -= 1, left += 1, right += 1) {
    if (*left != *right) return *left - *right;
  }
  return 0;
}

void *memchr(const void *bytes, int value, size_t length) {
  const uint8_t *at = bytes;
  for (; length > 0; length -= 1, at += 1) {
    if (*at == (uint8_t)value) return (void *)(uintptr_t)at;
  }
  return NULL;
}

int strcmp(const char *one, const char *other) {
  for (; *one != 0 && *one == *other; one += 1, other += 1) continue;
  return (unsigned char)*one - (unsigned char)*other;
}

int strncmp(const char *one, const char *other, size_t most) {
  for (; most > 1 && *one != 0 && *one == *other; most -= 1, one += 1, other += 1) continue;
  return most == 0 ? 0 : (unsigned char)*one - (unsigned char)*other;
}

size_t strlen(const char *text) {
  size_t length = 0;
  while (text[length] != 0) length += 1;
  return length;
}

/* As much of it as there is room for, and how long all of it would be. */
struct line {
  char *into;
  size_t room, length;
};

static void put(struct line *line, char letter) {
  if (line->length + 1 < line->room) line->into[line->length] = letter;
  line->length += 1;
}

static void put_text(struct line *line, const char *text) {
  for (; *text != 0; text += 1) put(line, *text);
}

static void put_number(struct line *line, unsigned long long number) {
  char digits[20];
  int count = 0;
  do digits[count++] = (char)('0' + number % 10);
  while ((number /= 10) != 0);
  while (count > 0) put(line, digits[--count]);
}

/* %s and %llu: our sources say nothing else here. The compiler sees to it that what follows is that; another word ends us. */
int vsnprintf(char *into, size_t room, const char *format, va_list words) {
  struct line line = {.into = into, .room = room};
  for (; *format != 0; format += 1) {
    if (*format != '%') {
      put(&line, *format);
    } else if (format[1] == 's') {
      put_text(&line, va_arg(words, const char *));
      format += 1;
    } else if (format[1] == 'l' && format[2] == 'l' && format[3] == 'u') {
      put_number(&line, va_arg(words, unsigned long long));
      format += 3;
    } else {
      __builtin_trap();
    }
  }
  if (room > 0) into[line.length < room ? line.length : room - 1] = 0;
  return (int)line.length;
}

int snprintf(char *into, size_t room, const char *format, ...) {
  va_list words;
  va_start(words, format);
  int length = vsnprintf(into, room, format, words);
  va_end(words);
  return length;
}
