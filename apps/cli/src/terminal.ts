import { createInterface } from 'node:readline/promises';
import type { Writable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import type { WriteStream } from 'node:tty';
import type { Terminal } from './command.ts';
import { type Keyboard, readHidden } from './read-hidden.ts';
import { layOutCode } from './render/code-layout.ts';
import { choosePaint, type PaintChoice } from './render/paint.ts';
import { safeText } from './render/safe-text.ts';

interface TerminalProcess {
  readonly stderr: Writable & Partial<Pick<WriteStream, 'isTTY' | 'columns' | 'rows'>>;
  readonly signal: AbortSignal;
  readonly variables: PaintChoice['variables'];
  openStdin(): Keyboard & { readonly isTTY?: boolean };
}

export interface OpenedTerminal {
  readonly terminal: Terminal;
  /** Takes away the line that shows progress. */
  clear(): void;
}

const COLUMNS = 80;
const START_OF_LINE = '\r\u001B[K';

/** Undefined when standard error is not a terminal: then nobody sees progress, and nobody is asked. */
export function openTerminal({ stderr, signal, variables, openStdin }: TerminalProcess): OpenedTerminal | undefined {
  if (stderr.isTTY !== true) return undefined;
  let isShown = false;
  let isAsking = false;
  const clear = () => {
    if (isShown) stderr.write(START_OF_LINE);
    isShown = false;
  };
  const ask = async (question: string, unneeded?: AbortSignal): Promise<string> => {
    clear();
    const stdin = openStdin();
    // Piped input answers other questions than this one.
    if (stdin.isTTY !== true) return '';
    isAsking = true;
    await forgetTyped(stdin);
    const lines = createInterface({ input: stdin, output: stderr, terminal: false });
    try {
      const until = unneeded === undefined ? signal : AbortSignal.any([signal, unneeded]);
      return await lines.question(safeText(question), { signal: until });
    } catch (thrown) {
      if (unneeded?.aborted !== true || signal.aborted) throw thrown;
      stderr.write('\n');
      return '';
    } finally {
      isAsking = false;
      lines.close();
    }
  };
  const askHidden = async (question: string, shownUntil?: string): Promise<string> => {
    clear();
    const stdin = openStdin();
    if (stdin.isTTY !== true) return '';
    isAsking = true;
    const mark = shownUntil === undefined ? {} : { shownUntil };
    return readHidden({ question: safeText(question), stdin, stderr, signal, interrupt, ...mark }).finally(() => {
      isAsking = false;
    });
  };
  const paint = choosePaint({ isTerminal: true, variables });
  return {
    clear,
    terminal: {
      progress(line) {
        // SECURITY: T-08 — whoever can cause a line of progress must not wipe away the question that is waiting.
        if (isAsking) return;
        isShown = true;
        // The last column stays free: a line that wraps cannot be taken away again.
        stderr.write(`${START_OF_LINE}${safeText(line).slice(0, (stderr.columns || COLUMNS) - 1)}`);
      },
      show(text) {
        clear();
        stderr.write(`${safeText(text)}\n`);
      },
      showCode(shown) {
        const { columns = 0, rows = 0 } = stderr;
        const lines = layOutCode(shown, columns > 0 && rows > 0 ? { columns, rows } : undefined);
        if (lines === undefined) return false;
        clear();
        for (const { code, text } of lines) {
          stderr.write(`${code === '' ? '' : paint('code', safeText(code))}${safeText(text)}\n`);
        }
        return true;
      },
      ask,
      askHidden,
    },
  };
}

/** The keyboard's own interruption: in raw mode the terminal does not make a signal of Ctrl-C. */
function interrupt(): void {
  process.kill(process.pid, 'SIGINT');
}

/** What waits in the terminal is there at the next turn or the one after it. */
const TURNS = 3;

/**
 * SECURITY: T-08 — what was typed before the question was on the screen answers another one, or none: a yes typed ahead, by a
 * person or by whatever else writes to the terminal, must not count. Raw, so that a line which is not yet entered goes, too.
 */
async function forgetTyped(stdin: Keyboard): Promise<void> {
  const drop = (typed: Buffer | string) => {
    if (String(typed).includes(CTRL_C)) interrupt();
  };
  stdin.setRawMode?.(true);
  stdin.on('data', drop).resume();
  for (let left = TURNS; left > 0; left -= 1) await turn();
  stdin.off('data', drop).pause();
  stdin.setRawMode?.(false);
}

const CTRL_C = '\u0003';
