import type { Readable, Writable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';

/** A keyboard whose letters the terminal itself need not show; `process.stdin` is one. */
export interface Keyboard extends Readable {
  setRawMode?(mode: boolean): unknown;
}

export interface HiddenLine {
  readonly question: string;
  readonly stdin: Keyboard;
  /** Where a star is shown for each letter. */
  readonly stderr: Writable;
  readonly signal: AbortSignal;
  /** What is typed up to and with this is no secret, and is shown. */
  readonly shownUntil?: string;
  /** The keyboard's own interruption: in this mode the terminal does not make a signal of Ctrl-C. */
  interrupt(): void;
}

/** One line, typed or pasted, of which nobody can read more from the screen than how long it is. Rejects when it is interrupted. */
export async function readHidden(line: HiddenLine): Promise<string> {
  const { question, stdin, stderr, signal } = line;
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const decoder = new StringDecoder('utf8');
  const editor = createEditor(line);
  const onData = (chunk: Buffer | string): void => {
    const { entered, rest } = editor.take(typeof chunk === 'string' ? chunk : decoder.write(chunk));
    if (entered === undefined) return;
    // The lines after it, of what was pasted, answer the next question.
    stdin.off('data', onData).pause();
    if (rest !== '') stdin.unshift(Buffer.from(rest));
    resolve(entered);
  };
  const onAbort = (): void => reject(signal.reason);
  const onEnd = (): void => resolve(editor.typed());
  signal.addEventListener('abort', onAbort, { once: true });
  stdin.on('data', onData).once('end', onEnd);
  // SECURITY: T-24 — the terminal itself must show nothing of it: screens are shared, recorded and looked at. Before the
  // question, or whoever answers at once is shown.
  stdin.setRawMode?.(true);
  stderr.write(question);
  // It stands still after an earlier question.
  stdin.resume();
  try {
    return await promise;
  } finally {
    stdin.setRawMode?.(false);
    stdin.off('data', onData).off('end', onEnd).pause();
    signal.removeEventListener('abort', onAbort);
    stderr.write('\n');
  }
}

interface Editor {
  /** The line is entered when there is an end of it. */
  take(text: string): { readonly entered: string | undefined; readonly rest: string };
  typed(): string;
}

const KEYS = {
  interrupt: '\u0003',
  endOfInput: '\u0004',
  backspace: ['\b', '\u007F'],
  enter: ['\r', '\n'],
  eraseLine: '\u0015',
  escape: '\u001B',
} as const;

/** Arrows, function keys, and what a terminal puts around a paste: none of them is part of a secret. */
const SEQUENCES = new RegExp(`${KEYS.escape}${String.raw`(?:\[[\d;?]*[ -/]*[@-~]|O.|.)?`}`, 'g');

function createEditor({ stderr, shownUntil, interrupt }: HiddenLine): Editor {
  const letters: string[] = [];
  const erase = (): void => {
    if (letters.pop() !== undefined) stderr.write('\b \b');
  };
  const press = (letter: string): void => {
    const isShown = shownUntil !== undefined && !letters.includes(shownUntil) && /^[ -~]$/.test(letter);
    letters.push(letter);
    stderr.write(isShown ? letter : '*');
  };
  return {
    typed: () => letters.join(''),
    take(text) {
      const keys = Array.from(text.replaceAll(SEQUENCES, ''));
      for (const [at, key] of keys.entries()) {
        const isEnd = KEYS.enter.some((enter) => enter === key) || (key === KEYS.endOfInput && letters.length === 0);
        if (isEnd) return { entered: letters.join(''), rest: keys.slice(at + 1).join('') };
        if (key === KEYS.interrupt) interrupt();
        else if (key === KEYS.eraseLine) while (letters.length > 0) erase();
        else if (KEYS.backspace.some((backspace) => backspace === key)) erase();
        else if (key >= ' ') press(key);
      }
      return { entered: undefined, rest: '' };
    },
  };
}
