import { readFileSync } from 'node:fs';

const STEP = 64;

/**
 * Room for the host's own tasks. It stays the same while they come and go a little, or no two plans would be alike, and no
 * sandbox that was started ahead would ever be the right one.
 */
export function createTaskRoom(count: () => number = tasksOnHost): () => number {
  let room = 0;
  return () => {
    const tasks = count();
    if (tasks > room || tasks < room - 4 * STEP) room = (Math.floor(tasks / STEP) + 2) * STEP;
    return room;
  };
}

/** The second number of `0.12 0.10 0.09 1/234 5678` is after the slash. */
function tasksOnHost(): number {
  const found = /\/(\d+)/.exec(readFileSync('/proc/loadavg', 'utf8'));
  return Number(found?.[1] ?? 0);
}
