import { closeSync, constants, fstatSync, openSync, watch, writeSync } from 'node:fs';

/** Rung after a commit that others shall hear of. They do not listen to the database itself: a commit writes it dozens of times. */
export interface Bell {
  /** Never throws: who does not hear it looks every now and then anyway. */
  ring(): void;
  close(): void;
}

const LOOK_EVERY = 32;
const ONE_BYTE = new Uint8Array(1);

export function openBell(path: string): Bell {
  let fd = tryToOpen(path);
  let rings = 0;
  const hangUpAgain = () => {
    if (fd !== undefined) closeSync(fd);
    fd = tryToOpen(path);
  };
  return {
    ring() {
      try {
        // Removed by somebody: whoever listens to the next one would hear nothing. Seldom, so seldom looked for.
        if (fd === undefined || (rings % LOOK_EVERY === 0 && fstatSync(fd).nlink === 0)) hangUpAgain();
        rings += 1;
        if (fd !== undefined) writeSync(fd, ONE_BYTE, 0, 1, 0);
      } catch {
        // A full disk, or the home gone: the commit itself is not touched by it.
      }
    },
    close() {
      if (fd !== undefined) closeSync(fd);
      fd = undefined;
    },
  };
}

/** Tells every ring. The system has only so many watches; without one nothing is ever told. */
export function listenToBell(path: string, heard: () => void): () => void {
  let stop = listenOnce();
  function listenOnce(): () => void {
    // It must be there to be watched; whoever comes first makes it.
    openBell(path).close();
    try {
      const watcher = watch(bellOf(path), { persistent: false }, (event) => {
        // Removed, or another one in its place.
        if (event === 'rename') {
          stop();
          stop = listenOnce();
        }
        heard();
      });
      watcher.on('error', () => watcher.close());
      return () => watcher.close();
    } catch {
      return () => {};
    }
  }
  return () => stop();
}

function bellOf(path: string): string {
  return `${path}-bell`;
}

function tryToOpen(path: string): number | undefined {
  try {
    const { O_CREAT, O_RDWR, O_NOFOLLOW } = constants;
    return openSync(bellOf(path), O_CREAT | O_RDWR | O_NOFOLLOW, 0o600);
  } catch {
    return undefined;
  }
}
