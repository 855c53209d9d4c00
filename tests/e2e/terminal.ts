import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';

/** A program in a terminal of its own, which has 24 lines and 80 columns. */
export interface TerminalSession extends AsyncDisposable {
  /** All that has come on its screen so far, as it came. */
  shown(): string;
  /** The same as letters alone: a screen is drawn in pieces, and what is blank already is not drawn. */
  letters(): string;
  press(keys: string): void;
  /**
   * Presses again and again until it counts: neither Palyra nor Codex hears what comes together with a new screen. Throws
   * when the program ends before.
   */
  pressUntil(keys: string, isDone: () => boolean | Promise<boolean>, options?: PressOptions): Promise<void>;
  /** Its exit code, once all has been read. */
  readonly ended: Promise<number | null>;
}

export interface PressOptions {
  /** Nothing is pressed before this. */
  readonly from?: () => boolean;
  readonly signal?: AbortSignal;
}

export interface TerminalOptions {
  readonly cwd: string;
  readonly env: Record<string, string | undefined>;
  /** A file that is told the terminal's name. */
  readonly nameIn?: string;
}

const LOOK_MS = 100;
const LOOKS_PER_KEY = 10;

/** `script` gives the program a terminal; what `script` reads is typed there. */
export function startInTerminal(argv: readonly string[], { cwd, env, nameIn }: TerminalOptions): TerminalSession {
  const line = ['stty rows 24 cols 80', argv.map(quoted).join(' ')];
  if (nameIn !== undefined) line.unshift(`tty > ${quoted(nameIn)}`);
  const child = spawn('script', ['-qec', line.join('; '), '/dev/null'], { cwd, env, stdio: 'pipe' });
  const pieces: Buffer[] = [];
  let isOver = false;
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes: Buffer) => pieces.push(bytes));
  // Who is gone hears no keys.
  child.stdin.on('error', () => undefined);
  const shown = () => Buffer.concat(pieces).toString();
  const ended = once(child, 'close').then(([exit]) => {
    isOver = true;
    child.stdin.destroy();
    return exit as number | null;
  });
  const press = (keys: string) => {
    if (!isOver) child.stdin.write(keys);
  };
  return {
    shown,
    letters: () => stripVTControlCharacters(shown()).replace(/\s/g, ''),
    press,
    async pressUntil(keys, isDone, { from = () => true, signal } = {}) {
      for (let looks = 1; !(await isDone()); looks += 1) {
        if (isOver) throw new Error(`It ended: ${shown()}`);
        // Not faster than a busy machine reads them: two at once are no key.
        if (looks % LOOKS_PER_KEY === 0 && from()) press(keys);
        await sleep(LOOK_MS, undefined, { signal });
      }
    },
    ended,
    async [Symbol.asyncDispose]() {
      if (!isOver) child.kill();
      await ended;
    },
  };
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
