/** What is known of the screen that an agent draws on. */
export interface AgentScreen {
  saw(bytes: Uint8Array): void;
  /** What is written before something of ours stands on a screen of so many lines. */
  begin(rows: number): string;
  /** And after it. */
  end(): string;
}

/** DECSET and DECRST of the second screen, which programs that draw use. */
const SECOND_SCREEN = new RegExp(`${String.fromCharCode(27)}\\[\\?(?:1049|1047|47)([hl])`, 'g');
/** The longest of them, cut in two. */
const KEPT = 8;

/**
 * A program that draws has its screen cleared, and draws it anew when it is told that its size has changed; what one that only
 * writes lines has written is pushed up, and nothing of it is lost.
 */
export function createAgentScreen(): AgentScreen {
  let isDrawing = false;
  let rest = '';
  return {
    saw(bytes) {
      const text = rest + Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
      for (const [, how] of text.matchAll(SECOND_SCREEN)) isDrawing = how === 'h';
      rest = text.slice(-KEPT);
    },
    // SECURITY: T-08 — alone on the screen: nothing that the agent has drawn stands beside it, in its place or as a part of it.
    begin: (rows) => `${OWN_SCREEN}${NO_ORIGIN}${isDrawing ? '' : `\u001B[${rows};1H${'\r\n'.repeat(rows)}`}${CLEAR}`,
    end: () => (isDrawing ? CLEAR : '\r\n'),
  };
}

const CLEAR = '\u001B[r\u001B[2J\u001B[H';

/**
 * SECURITY: T-08 — what the agent has begun ends here, and nothing that it has set stays, or a question would stand in two lines
 * of the screen, in the colour of its background, in signs for letters, or nowhere yet. The cursor stays where it is: what
 * is said next stands below what the agent has written. An origin that it has set is back with the cursor, and means nothing
 * where all lines scroll.
 */
export const OWN_SCREEN: string = [
  // CAN, and the end of a string, for those to whom CAN is none.
  '\u0018\u001B\\',
  // No margins at the sides (69), no origin (6), all lines of the screen scroll. The last two move the cursor to the first line.
  '\u001B7\u001B[?69l\u001B[?6l\u001B[r\u001B8',
  // Drawing at once (2026), lines that wrap (7), no inverse screen (5), a cursor, no inserting.
  '\u001B[?2026l\u001B[?7h\u001B[?5l\u001B[?25h\u001B[4l',
  // Letters are letters: SI, G0 and G1.
  '\u000F\u001B(B\u001B)B',
  // Colours as they were, of the palette, of text and of background; no link, nothing hidden.
  '\u001B]104\u001B\\\u001B]110\u001B\\\u001B]111\u001B\\\u001B]8;;\u001B\\\u001B[0m',
].join('');

/** Where nothing is to stay where it is, no origin either. */
const NO_ORIGIN = '\u001B[?6l';

/** Whatever the agent has put below the cursor, or to the right of it. */
const NOTHING_BELOW = '\u001B[J';

interface Screen {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/**
 * SECURITY: T-08 — what is said of the session when the agent has ended is not hidden by what it has left behind, and ends
 * where it ends: an agent that put the cursor back up could have its own verdict stand below ours. On every terminal that it
 * could write to, also where nobody could be asked.
 */
export function leaveAgentScreen({ stdout, stderr }: { readonly stdout: Screen; readonly stderr: Screen }): void {
  // Twice where both are the same one, which changes nothing.
  for (const screen of [stdout, stderr]) if (screen.isTTY === true) screen.write(`${OWN_SCREEN}${NOTHING_BELOW}`);
}
