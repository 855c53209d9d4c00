import { type ByteMatcher, step } from './byte-matcher.ts';
import type { HeldSecrets, SecretTable } from './held-secrets.ts';
import { createMaskedOutput, type MaskedOutput } from './masked-output.ts';
import { GAPS } from './secret-forms.ts';

/** Bytes in pieces, out in pieces, changed on the way. However the input is cut, the whole output is the same. */
export interface ByteFilter {
  /** What is settled by now. May share memory with the chunk. */
  write(chunk: Uint8Array): Uint8Array;
  /** The rest. `cut` says that the input goes on where nobody reads it, so that half a secret may be its end. */
  end(how: 'whole' | 'cut'): Uint8Array;
}

/** More than that many gaps in a row belong to no secret; endless ones would have to be held back for ever. */
const LONGEST_GAP = 64;

/** What is left of a secret at a cut is hidden from here on; less is found at the end of any text. */
const SHORTEST_REMAINDER = 4;

/** Hides the held secrets in all their forms. Holds back as many bytes as the longest of them has. */
export function maskSecrets(held: HeldSecrets): ByteFilter {
  const stream = held.openStream();
  const output = createMaskedOutput({ mask: secretMask, lookBehind: 0 });
  let table = held.table();
  let scan = createScan(table, output);

  const useNewest = (): void => {
    const newest = held.table();
    if (newest === table) return;
    table = newest;
    // SECURITY: T-24 — what is held back may begin a secret that was added since, and still begins the older ones.
    scan = createScan(table, output);
    scan.read(output.cursor());
  };

  return {
    write(chunk) {
      useNewest();
      const from = output.total();
      output.push(chunk);
      scan.read(from);
      return output.release(scan.settled());
    },
    end(how) {
      useNewest();
      if (how === 'cut') scan.hideRemainder();
      stream.close();
      return output.release(output.total());
    },
  };
}

/** SECURITY: T-24 — says whose place it is and nothing else: not the length, not the form, no first or last letters. */
function secretMask(names: readonly string[]): string {
  const known = [...new Set(names.flatMap((name) => name.split(',')))].filter((name) => name !== '');
  return known.length === 0 ? '[secret]' : `[secret:${known.join(',')}]`;
}

interface Scan {
  /** Reads the output's bytes from this offset to their end. */
  read(from: number): void;
  /** Before this offset nothing can be hidden any more. */
  settled(): number;
  hideRemainder(): void;
}

function createScan({ matcher, names }: SecretTable, output: MaskedOutput): Scan {
  const places = placesFor(matcher);
  const last = places.length - 1;
  let state = 0;
  let gap = 0;
  /** Bytes read so far that are no gaps; `places` knows where the newest of them are. */
  let count = 0;

  /** Where the newest `length` bytes that are no gaps begin. */
  const placeBehind = (length: number): number => {
    if (length === 0) return output.total();
    return length > count ? output.cursor() : (places[(count - length) & last] as number);
  };
  const heldFrom = (): number => placeBehind(matcher.held[state] as number);

  return {
    read(from) {
      if (matcher.longest === 0) return;
      const bytes = output.bytes();
      const base = output.base();
      // Locals, because the loop runs for every byte of every output and captured variables cost a load each.
      const { rows, successors, length: lengths } = matcher;
      const [ring, gaps] = [places, GAPS];
      let now = state;
      let run = gap;
      let seen = count;
      for (let at = from - base; at < bytes.length; at += 1) {
        const byte = bytes[at] as number;
        if (byte <= 0x20 && gaps[byte] === 1) {
          run += 1;
          if (run > LONGEST_GAP) now = 0;
          continue;
        }
        run = 0;
        ring[seen & last] = base + at;
        seen = (seen + 1) & 0x3fff_ffff;
        now = now < rows ? (successors[(now << 8) | byte] as number) : step(matcher, now, byte);
        const length = lengths[now] as number;
        if (length === 0) continue;
        const name = names[matcher.label[now] as number] ?? '';
        output.hide(ring[(seen - length) & last] as number, base + at + 1, name);
      }
      state = now;
      gap = run;
      count = seen;
    },
    // SECURITY: T-24 — always as much as the longest secret could still need, and not only what begins one: whoever sees
    // what is held back would else learn a secret letter by letter, within one call.
    settled: () => (matcher.longest === 0 ? output.total() : placeBehind(matcher.longest - 1)),
    hideRemainder() {
      if ((matcher.held[state] as number) < SHORTEST_REMAINDER) return;
      output.hide(heldFrom(), output.total(), names[matcher.heldLabel[state] as number] ?? '');
    },
  };
}

/** A ring as long as the longest pattern: where each of its bytes would have been read. */
function placesFor(matcher: ByteMatcher): Float64Array {
  return new Float64Array(2 ** Math.ceil(Math.log2(matcher.longest + 1)));
}
