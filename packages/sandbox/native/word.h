/* The word that lets a tool begin, from the launcher to the process that waits for it. */
#ifndef PALYRA_WORD_H
#define PALYRA_WORD_H

#include <stddef.h>
#include <stdint.h>

/* 0, or -1 with errno: then it was not given. With it goes what the tool is, where that was left open until now. */
int give_word(int socket, const uint8_t *tool, size_t length);

/* Waits. 1 when it was given, 0 when it will never be; `tool` becomes a file that says what the tool is, or -1. */
int await_word(int socket, int *tool);

#endif
