import type { JsonValue, LogDestination, SecretBytes, SecretText } from '@palyra/primitives';
import { createTokenDetector, type SettlingFilter } from './detect-tokens.ts';
import { createHeldSecrets, type HoldOutcome } from './held-secrets.ts';
import { type ByteFilter, maskSecrets } from './mask-secrets.ts';
import { TOKEN_SHAPES } from './token-shapes.ts';

/**
 * Takes secrets out of whatever leaves the gateway: outputs of tools, logs, prompts. Held secrets and their usual
 * encodings become `[secret:NAME]`; what only looks like a credential becomes `[detected:ID]`. Nothing here throws
 * because of the text. Redact first and shorten afterwards: the second half of a secret is not found.
 */
export interface Redactor {
  /**
   * Masks `secret` from now on; the same one under the same name is held once. Refuses, as a value, what cannot be masked safely: a refused secret must not be given
   * to a call. Throws `PrimitivesError` when it was wiped before.
   */
  hold(name: string, secret: SecretText | SecretBytes): HoldOutcome;
  /** Forgets every secret of that name. Streams that are open still mask it. */
  release(name: string): void;
  /** `cut` for output whose rest was thrown away: half a secret at its end is hidden too. */
  redactBytes(bytes: Uint8Array, how?: 'whole' | 'cut'): Uint8Array;
  /** The same text when there is nothing to hide. */
  redactText(text: string): string;
  /** For output that comes in pieces. Always `end` it: released secrets are kept for it until then. */
  redactStream(): ByteFilter;
  /**
   * The same for a terminal, where people wait for prompts and for what they typed. SECURITY: T-24 — only guesses about
   * shapes are let go by `settle`: while a secret is held, as much as it is long stays held back.
   */
  redactTerminal(): SettlingFilter;
  /** A copy with every text and key redacted; for prompts and records, whose structure stays as it is. */
  redactJson(value: JsonValue): JsonValue;
  /**
   * Held secrets only, for prompts. SECURITY: T-08 — whoever could make words look like a credential would else choose
   * what the approver does not see.
   */
  maskHeld(text: string): string;
  /** The same for bytes: what a guest may read, and has to be able to read otherwise as it is. */
  maskHeldBytes(bytes: Uint8Array): Uint8Array;
  /** Log lines on their way to `destination`. */
  redactLog(destination: LogDestination): LogDestination;
}

export interface RedactorOptions {
  /** `held_only` leaves alone what only looks like a credential. */
  readonly detect?: 'well_known_shapes' | 'held_only';
}

const DETECTOR = createTokenDetector(TOKEN_SHAPES);

export function createRedactor({ detect = 'well_known_shapes' }: RedactorOptions = {}): Redactor {
  const held = createHeldSecrets();
  const redactStream = (): ByteFilter =>
    // SECURITY: T-24 — held secrets first: their masks say more, and no guess about shapes can cut one in two.
    detect === 'held_only' ? maskSecrets(held) : inOrder(maskSecrets(held), DETECTOR.detectTokens());
  const redactBytes: Redactor['redactBytes'] = (bytes, how = 'whole') => through(redactStream(), bytes, how);
  // SECURITY: T-24 — a whole text in which nothing begins that is looked for; everything else goes through the filters.
  const holdsNothing = (text: string): boolean =>
    held.table().matcher.longest === 0 && (detect === 'held_only' || !DETECTOR.mayFind(Buffer.from(text, 'utf8')));
  const redactText = (text: string): string => (holdsNothing(text) ? text : textThrough(redactStream(), text));
  return {
    hold: held.hold,
    release: held.release,
    redactBytes,
    redactText,
    redactStream,
    redactTerminal() {
      const secrets = maskSecrets(held);
      if (detect === 'held_only') return { ...secrets, settle: () => new Uint8Array() };
      const tokens = DETECTOR.detectTokens();
      return { ...inOrder(secrets, tokens), settle: tokens.settle };
    },
    redactJson: (value) => mapTexts(value, redactText),
    maskHeld: (text) => textThrough(maskSecrets(held), text),
    maskHeldBytes: (bytes) => through(maskSecrets(held), bytes, 'whole'),
    redactLog: (destination) => ({ write: (line) => destination.write(redactText(line)) }),
  };
}

function through(filter: ByteFilter, bytes: Uint8Array, how: 'whole' | 'cut'): Uint8Array {
  const written = filter.write(bytes);
  const rest = filter.end(how);
  return rest.length === 0 ? written : Buffer.concat([written, rest]);
}

function textThrough(filter: ByteFilter, text: string): string {
  const bytes = Buffer.from(text, 'utf8');
  const redacted = through(filter, bytes, 'whole');
  return bytes.equals(redacted) ? text : Buffer.from(redacted).toString('utf8');
}

function inOrder(first: ByteFilter, second: ByteFilter): ByteFilter {
  return {
    write: (chunk) => second.write(first.write(chunk)),
    end: (how) => Buffer.concat([second.write(first.end(how)), second.end(how)]),
  };
}

type Change = (text: string) => string;

function mapTexts(value: JsonValue, change: Change): JsonValue {
  if (typeof value === 'string') return change(value);
  if (typeof value !== 'object' || value === null) return value;
  if (isList(value)) return value.map((item) => mapTexts(item, change));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [change(key), mapMember(key, item, change)]));
}

/** A value is read with its name in front: some are only known by it. */
function mapMember(key: string, value: JsonValue, change: Change): JsonValue {
  if (typeof value !== 'string') return mapTexts(value, change);
  const name = `${key}=`;
  const changed = change(name + value);
  return changed.startsWith(name) ? changed.slice(name.length) : change(value);
}

function isList(value: readonly JsonValue[] | { readonly [key: string]: JsonValue }): value is readonly JsonValue[] {
  return Array.isArray(value);
}
