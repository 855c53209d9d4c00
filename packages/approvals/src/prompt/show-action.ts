import { inspectHost } from '@palyra/primitives';
import type { Page, Shown } from './page.ts';
import { MOST_OF_A_NAME, showCommand, showWithin, showWord } from './page.ts';
import type { ShownAction } from './prompt-facts.ts';

export interface ActionText {
  readonly kind: ShownAction['kind'];
  /** The whole of it, made visible. A diff has real line breaks: whoever prints it marks each line as quoted. */
  readonly text: string;
  /** How long it is. */
  readonly bytes: number;
  /** How much of it is not in `text`, which says so where it is missing. */
  readonly left_out: number;
}

/** More than anybody reads, and less than a row may hold. */
const MOST_CHARACTERS = 100_000;

// SECURITY: T-08 — the exact bytes or a note that says how many are missing; never a summary.
export function showAction(action: ShownAction, page: Page): ActionText {
  const shown = textOf(action);
  return { kind: action.kind, text: page.count(shown), bytes: shown.bytes, left_out: shown.leftOut };
}

function textOf(action: ShownAction): Shown {
  switch (action.kind) {
    case 'command':
      return showCommand(action.argv, MOST_CHARACTERS);
    case 'diff':
      return showWithin(action.diff, MOST_CHARACTERS, { newlines: 'keep' });
    case 'url':
      return showWithin(`${action.method} ${action.url}`, MOST_CHARACTERS, { isEmbedded: true });
    case 'call':
      return showCall(action);
    case 'connection':
      return showConnection(action);
  }
}

/** SECURITY: T-08 — the host first and in the form that cannot pass for another; then all of what wants it. */
function showConnection({ host, port, by }: Extract<ShownAction, { kind: 'connection' }>): Shown {
  const where = showWord(`${inspectHost(host).shown}:${port}`, MOST_OF_A_NAME);
  const shown = textOf(by);
  return {
    text: `connect to ${where.text} for ${shown.text}`,
    bytes: where.bytes + shown.bytes,
    leftOut: where.leftOut + shown.leftOut,
  };
}

/** SECURITY: T-08, T-38 — the name is quoted unless it is plain: an upstream tool's could pass for its arguments. */
function showCall({ name, arguments: given }: Extract<ShownAction, { kind: 'call' }>): Shown {
  const called = showWord(name, MOST_OF_A_NAME);
  const shown = showWithin(given, MOST_CHARACTERS - called.text.length - 1, { isEmbedded: true });
  return {
    text: `${called.text} ${shown.text}`,
    bytes: called.bytes + 1 + shown.bytes,
    leftOut: called.leftOut + shown.leftOut,
  };
}

/** What is done, in the infinitive. */
export function actInWords(action: ShownAction, page: Page): string {
  switch (action.kind) {
    case 'command':
      return `run ${page.name(action.argv[0] ?? '')}`;
    case 'diff':
      return `change ${action.paths.length === 1 ? page.name(action.paths[0] ?? '') : `${action.paths.length} files`}`;
    case 'url':
      return `fetch ${page.name(action.url)}`;
    case 'call':
      return `call ${page.name(action.name)}`;
    case 'connection':
      return `connect to ${page.text(inspectHost(action.host).shown)} port ${action.port} (has begun to ${actInWords(action.by, page)})`;
  }
}
