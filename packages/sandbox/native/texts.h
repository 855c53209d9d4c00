/* Reading the kernel's small files whole, and sending bytes whole. */
#ifndef PALYRA_TEXTS_H
#define PALYRA_TEXTS_H

#include "wire.h"

/* Appends `name, NUL, content of the file` as one item; an empty text when it cannot be read. */
void append_file(struct buffer *buffer, uint16_t tag, const char *name, const char *path);
/* The same for a file that is open, from its beginning. */
void append_open_file(struct buffer *buffer, uint16_t tag, const char *name, int fd);
/* The same for where the namespace links in `directory` (…/ns) point to. */
void append_namespaces(struct buffer *buffer, uint16_t tag, const char *directory);
/* 0, or -1 with errno. */
int write_all(int fd, const void *bytes, size_t length);
/* O_PATH of an absolute path that leads through no symbolic link, and is none; -1 with errno. Step by step, because
 * openat2 is refused in many a container. */
int open_without_links(const char *path);
/* SECURITY: T-04 — sealed: it is read as the tool's user, and who has that uid could write it meanwhile. -1 with errno. */
int memory_file(const char *name, const void *bytes, size_t length);
int write_text(const char *path, const char *text);
/* At most `room - 1` bytes and a NUL; -1 with errno. */
long read_text(const char *path, char *into, size_t room);

#endif
