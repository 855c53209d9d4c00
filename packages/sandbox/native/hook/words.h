#ifndef PALYRA_HOOK_WORDS_H
#define PALYRA_HOOK_WORDS_H

#include <stdbool.h>

/* To whoever reads standard error: nothing but texts (%s), and at most a thousand characters of it. */
__attribute__((format(printf, 1, 2))) void tell(const char *format, ...);

/* Digits and nothing else, 1 to `most`. */
bool read_number(const char *text, unsigned long most, unsigned long *number);

#endif
