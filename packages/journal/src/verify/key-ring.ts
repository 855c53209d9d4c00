import { bytesOfHex, equalBytes, hexOf } from '../format/bytes.ts';
import type { VerifyCrypto } from '../format/crypto.ts';
import {
  isSignedByRoot,
  type KeyRole,
  type KeysByName,
  type KeyValidity,
  keysValidAt,
  type SignedKeyStatement,
  takeStatement,
} from '../format/key-statement.ts';
import { JournalError } from '../journal-error.ts';
import type { Finding } from './report.ts';
import { MAX_STATEMENTS } from './written-log.ts';

/** The keys that a log has had so far, each as far as the root key certified it. */
export interface KeyRing {
  readonly statements: readonly SignedKeyStatement[];
  /** The statement counts from here on; whether the root key signed it is known later. */
  add(statement: SignedKeyStatement, seq?: number): Promise<Finding | undefined>;
  /** Statements of entries before this one; undefined when it is not known which those are. */
  before(seq: number): readonly SignedKeyStatement[] | undefined;
  validAt(role: KeyRole, size: number): readonly KeyValidity[];
  used(key: KeyValidity, size: number): void;
  /** A key that signed for a size after that up to which, as was said later, it counted. */
  overstayed(): Finding | undefined;
  /** Whether it is the root key, or ever was another key of the log. */
  has(publicKey: Uint8Array): boolean;
}

interface KeyRingDeps {
  readonly rootKey: Uint8Array;
  readonly crypto: VerifyCrypto;
  /** Trusted already: from an earlier verification. */
  readonly known: readonly SignedKeyStatement[];
  /** Where the verification begins: what comes without a place was said before it. */
  readonly first: number;
}

export function createKeyRing({ rootKey, crypto, known, first }: KeyRingDeps): KeyRing {
  const statements: SignedKeyStatement[] = [...known];
  const places: (number | undefined)[] = known.map(() => undefined);
  const lastUse = new Map<string, number>();
  // SECURITY: T-39 — one statement at a time: a file from a stranger may bring thousands, with a checkpoint after each.
  const byName: KeysByName = new Map();
  for (const statement of known) takeStatement(byName, endedAt(statement, first - 1));
  let listed: readonly KeyValidity[] | undefined;
  const keys = () => {
    listed ??= [...byName.values()];
    return listed;
  };

  return {
    statements,
    async add(statement, seq) {
      if (statements.length >= MAX_STATEMENTS) throw tooMany();
      statements.push(statement);
      places.push(seq);
      takeStatement(byName, endedAt(statement, seq ?? first - 1));
      listed = undefined;
      // SECURITY: T-31 — the log brings its own keys along; only the root key's word makes them keys.
      if (await isSignedByRoot(statement, rootKey, crypto)) return undefined;
      const why = `The root key has not signed that a ${statement.role} key is ${statement.change}.`;
      return { code: 'key_uncertified', ...(seq === undefined ? {} : { seq }), why };
    },
    before(seq) {
      if (known.length > 0) return undefined;
      return statements.filter((_, at) => (places[at] ?? -1) < seq);
    },
    validAt: (role, size) => keysValidAt(keys(), role, size),
    used({ role, publicKey }, size) {
      const id = `${role} ${hexOf(publicKey)}`;
      if (size > (lastUse.get(id) ?? -1)) lastUse.set(id, size);
    },
    overstayed() {
      for (const { role, publicKey, until } of keys()) {
        const size = lastUse.get(`${role} ${hexOf(publicKey)}`) ?? -1;
        if (until === undefined || size <= until) continue;
        const code = role === 'checkpoint' ? 'checkpoint_unsigned' : 'attestation_unsigned';
        return { code, seq: size - 1, why: `A ${role} key that counted up to size ${until} signed for size ${size}.` };
      }
      return undefined;
    },
    has: (publicKey) =>
      equalBytes(publicKey, rootKey) ||
      statements.some(({ public_key }) => equalBytes(publicKey, bytesOfHex(public_key) ?? new Uint8Array())),
  };
}

function tooMany(): JournalError {
  return new JournalError(
    'journal.verification_limit',
    `There are more than ${MAX_STATEMENTS} key statements in this log.`,
  );
}

/**
 * SECURITY: T-31 — the statement only bounds what a retired key may have signed, because it is made before it is known
 * which entry will hold it. From that entry on the key signs nothing, whatever the bound.
 */
function endedAt(statement: SignedKeyStatement, seq: number): SignedKeyStatement {
  return statement.change === 'retired' && statement.position > seq ? { ...statement, position: seq } : statement;
}
