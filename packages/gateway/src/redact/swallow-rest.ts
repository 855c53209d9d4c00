import type { FittingShape } from './fit-shape.ts';
import { type ByteSet, bytesOf } from './shape-bytes.ts';

/** What follows the part of a credential that gave it away. */
export interface Swallow {
  /** The index of the first byte from `from` on that does not belong to it; the length when all do. */
  end(bytes: Uint8Array, from: number): number;
}

export function createSwallow({ ends, steps }: FittingShape): Swallow {
  return ends === 'key_file' ? swallowKeyFile() : swallowRun(steps.at(-1)?.of ?? new Uint8Array(256));
}

function swallowRun(of: ByteSet): Swallow {
  return {
    end(bytes, from) {
      let at = from;
      while (at < bytes.length && of[bytes[at] as number] === 1) at += 1;
      return at;
    },
  };
}

const KEY_FILE: ByteSet = bytesOf('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=\\ \t\r\n-:,.()@');
const DASH = 0x2d;
const DASHES = 5;

/** Up to the dashes that close the line with END, or to what no key file has in it; one without an end is cut. */
function swallowKeyFile(): Swallow {
  let dashes = 0;
  let rows = 0;
  return {
    end(bytes, from) {
      let at = from;
      while (at < bytes.length && rows < 2 && KEY_FILE[bytes[at] as number] === 1) {
        dashes = bytes[at] === DASH ? dashes + 1 : 0;
        if (dashes === DASHES) rows += 1;
        at += 1;
      }
      return at;
    },
  };
}
