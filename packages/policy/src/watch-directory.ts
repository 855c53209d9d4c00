import { watch } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** Calls `onChange`, too often rather than too seldom, until the answer is called. What it misses, a slow poll finds. */
export type WatchDirectory = (directory: string, onChange: () => void) => () => void;

/** The directory itself, its `workspaces/`, and its parent, for the day that either of them appears. */
export const watchDirectory: WatchDirectory = (directory, onChange) => {
  const open = new Map<string, () => void>();
  const places = [dirname(directory), directory, join(directory, 'workspaces')];
  const openAll = (): void => {
    for (const place of places) if (!open.has(place)) openOne(place);
  };
  const openOne = (place: string): void => {
    try {
      const watcher = watch(place, { persistent: false }, (_event, file) => {
        // The home holds the database, which is written all the time.
        if (place === places[0] && file !== basename(directory)) return;
        openAll();
        onChange();
      });
      const close = (): void => {
        open.delete(place);
        watcher.close();
      };
      // A directory that was removed is watched again when its parent tells of it.
      watcher.on('error', close);
      open.set(place, close);
    } catch {
      // It is not there, or this system has no watches left: the poll remains.
    }
  };
  openAll();
  return () => {
    for (const close of open.values()) close();
  };
};
