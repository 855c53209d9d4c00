/** The QR code of a text, for a terminal. Its library is loaded now: few commands need it. */
export async function qrCodeOf(text: string): Promise<string> {
  const { create } = await import('qrcode');
  return renderQrCode(create(text, { errorCorrectionLevel: 'L' }).modules);
}

/** Squares of a QR code by row: 1 is dark. */
interface QrModules {
  readonly size: number;
  readonly data: ArrayLike<number>;
}

/** The standard asks for a margin of four; phones read two, which leaves room on a small screen. */
const MARGIN = 2;

/**
 * Two rows of squares a line of text, in half blocks. Written light on dark, for a terminal with a dark background;
 * readers take the other way round as well.
 */
export function renderQrCode({ size, data }: QrModules): string {
  const isDark = (row: number, column: number): boolean =>
    row >= 0 && column >= 0 && row < size && column < size && data[row * size + column] === 1;
  const lines: string[] = [];
  for (let row = -MARGIN; row < size + MARGIN; row += 2) {
    let line = '';
    for (let column = -MARGIN; column < size + MARGIN; column += 1) {
      line += HALVES[(isDark(row, column) ? 0 : 2) + (isDark(row + 1, column) ? 0 : 1)];
    }
    lines.push(line);
  }
  return `${lines.join('\n')}\n`;
}

/** Neither half light, the lower, the upper, both. */
const HALVES = [' ', '▄', '▀', '█'] as const;
