import { createInterface } from 'node:readline/promises';
import type { Writable } from 'node:stream';
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
    const lines = createInterface({ input: stdin, output: stderr, terminal: false });
    isAsking = true;
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
    const interrupt = () => void process.kill(process.pid, 'SIGINT');
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
