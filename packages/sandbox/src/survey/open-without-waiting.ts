import { closeSync, constants, fstatSync, openSync, type Stats } from 'node:fs';

const { O_RDONLY, O_NONBLOCK, O_NOCTTY } = constants;

/**
 * Of a regular file and nothing else, by its descriptor. Throws otherwise, and where opening would have to wait.
 *
 * SECURITY: T-39 — a tool may have put a fifo there since somebody looked, and whoever holds a lease on a file lets others wait
 * for 45 seconds: all of palyrad would wait with us.
 */
export function openWithoutWaiting<T>(path: string, use: (fd: number, stats: Stats) => T, flags = 0): T {
  const fd = openSync(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | flags);
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile()) throw new Error('There is no regular file.');
    return use(fd, stats);
  } finally {
    closeSync(fd);
  }
}
