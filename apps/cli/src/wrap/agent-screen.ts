/** What is known of the screen that an agent draws on. */
export interface AgentScreen {
  saw(bytes: Uint8Array): void;
  /** What is written before something of ours stands on it. */
  begin(): string;
  /** And after it. */
  end(): string;
}

/** DECSET and DECRST of the second screen, which programs that draw use. */
const SECOND_SCREEN = new RegExp(`${String.fromCharCode(27)}\\[\\?(?:1049|1047|47)([hl])`, 'g');
/** The longest of them, cut in two. */
const KEPT = 8;

/**
 * A program that draws has its screen cleared, and draws it anew when it is told that its size has changed; of one that only
 * writes lines nothing is lost.
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
    // SECURITY: T-08 — what the agent has begun ends here, and neither its colours nor its cursor stay: CAN, SGR 0, DECTCEM.
    begin: () => `\u0018\u001B[0m\u001B[?25h${isDrawing ? CLEAR : '\r\n'}`,
    end: () => (isDrawing ? CLEAR : '\r\n'),
  };
}

const CLEAR = '\u001B[r\u001B[2J\u001B[H';
