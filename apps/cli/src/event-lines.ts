import { renderJson } from './render/json.ts';

/** What happens, one JSON document a line, as it happens: for programs that watch. */
export interface EventLines {
  push(event: object): void;
  /** Ends the lines; with an error, whoever reads them is told so. */
  end(error?: unknown): void;
  readonly lines: AsyncIterable<string>;
}

export function createEventLines(): EventLines {
  const waiting: string[] = [];
  let isOver = false;
  let fault: { readonly error: unknown } | undefined;
  let wake = (): void => undefined;
  async function* lines(): AsyncGenerator<string> {
    for (;;) {
      const next = waiting.shift();
      if (next !== undefined) yield next;
      else if (fault !== undefined) throw fault.error;
      else if (isOver) return;
      else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  }
  return {
    push(event) {
      waiting.push(renderJson(event));
      wake();
    },
    end(error) {
      isOver = true;
      if (error !== undefined) fault = { error };
      wake();
    },
    lines: lines(),
  };
}
