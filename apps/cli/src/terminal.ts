import { createInterface } from 'node:readline/promises';
import type { Readable, Writable } from 'node:stream';
import type { Terminal } from './command.ts';
import { safeText } from './render/safe-text.ts';

interface TerminalProcess {
  readonly stderr: Writable & { readonly isTTY?: boolean };
  readonly signal: AbortSignal;
  openStdin(): Readable & { readonly isTTY?: boolean };
}

export interface OpenedTerminal {
  readonly terminal: Terminal;
  /** Takes away the line that shows progress. */
  clear(): void;
}

const COLUMNS = 79;
const START_OF_LINE = '\r\u001B[K';

/** Undefined when standard error is not a terminal: then nobody sees progress, and nobody is asked. */
export function openTerminal({ stderr, signal, openStdin }: TerminalProcess): OpenedTerminal | undefined {
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
  return {
    clear,
    terminal: {
      progress(line) {
        // SECURITY: T-08 — whoever can cause a line of progress must not wipe away the question that is waiting.
        if (isAsking) return;
        isShown = true;
        stderr.write(`${START_OF_LINE}${safeText(line).slice(0, COLUMNS)}`);
      },
      show(text) {
        clear();
        stderr.write(`${safeText(text)}\n`);
      },
      ask,
    },
  };
}
