import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { nodeSha256 as sha256 } from '../node-crypto.ts';
import { concat, hexOf, utf8 } from './bytes.ts';
import { encodeEntry, entryHash, indexOf, parseActor, readEntry, type StoredEntry } from './entry.ts';

const ID = '01ARZ3NDEKTSV4RRFFQ69G5FAV';
const DATA = `{"calls":3,"outcome":"completed","principal":"user:ada","run_id":"${ID}","session_id":"${ID}"}`;

const ENTRY: StoredEntry = {
  origin: 'palyra/test',
  seq: 7,
  previous: new Uint8Array(32).fill(0xaa),
  time: 1_700_000_000_000,
  actor: 'daemon:palyrad',
  kind: 'run.ended',
  version: 1,
  data: DATA,
};

const invalidEntry = expect.objectContaining({ code: 'journal.invalid_entry' });

/** Short texts of few letters, so that a border that moved would be found. */
const text = fc.string({ unit: fc.constantFrom('a', 'b', '\u0000', '\u0001', 'é', '\u{1f600}'), maxLength: 4 });
const number = fc.oneof(fc.nat({ max: 3 }), fc.maxSafeNat());

const stored: fc.Arbitrary<StoredEntry> = fc.record({
  origin: text,
  seq: number,
  previous: fc.constantFrom(0, 1, 255).map((byte) => new Uint8Array(32).fill(byte)),
  time: number,
  actor: text,
  kind: text,
  version: fc.oneof(fc.nat({ max: 3 }), fc.integer({ min: 0, max: 2 ** 32 - 1 })),
  data: text,
});

/** What the encoding says, read by the description alone. */
function fieldsOf(encoded: Uint8Array): readonly Uint8Array[] {
  const view = new DataView(encoded.buffer, encoded.byteOffset, encoded.length);
  const fields: Uint8Array[] = [];
  let at = 0;
  while (at < encoded.length) {
    const length = view.getUint32(at);
    fields.push(encoded.slice(at + 4, at + 4 + length));
    at += 4 + length;
  }
  expect(at).toBe(encoded.length);
  return fields;
}

describe('the encoding', () => {
  test('is every field with its length before it', () => {
    const length = (value: number) => value.toString(16).padStart(8, '0');
    const field = (hex: string) => length(hex.length / 2) + hex;
    const letters = (value: string) => Buffer.from(value).toString('hex');
    expect(hexOf(encodeEntry(ENTRY))).toBe(
      [
        field(letters('palyra.entry/1')),
        field(letters('palyra/test')),
        field('0000000000000007'),
        field('aa'.repeat(32)),
        field('0000018bcfe56800'),
        field(letters('daemon:palyrad')),
        field(letters('run.ended')),
        field('00000001'),
        field(letters(DATA)),
      ].join(''),
    );
  });

  test('can be read back, so no two entries share one', () => {
    fc.assert(
      fc.property(stored, (entry) => {
        const [, origin, seq, previous, time, actor, kind, version, data] = fieldsOf(encodeEntry(entry));
        const number64 = (bytes?: Uint8Array) => Number(Buffer.from(bytes ?? []).readBigUInt64BE());
        const string = (bytes?: Uint8Array) => Buffer.from(bytes ?? []).toString('utf8');
        expect({
          origin: string(origin),
          seq: number64(seq),
          previous,
          time: number64(time),
          actor: string(actor),
          kind: string(kind),
          version: Buffer.from(version ?? []).readUInt32BE(),
          data: string(data),
        }).toEqual(entry);
      }),
      { numRuns: 500 },
    );
  });

  test('differs, and the hash with it, wherever two entries differ', () => {
    fc.assert(
      fc.property(stored, stored, fc.constantFrom(...Object.keys(ENTRY)), (left, right, name) => {
        const changed = { ...left, [name]: right[name as keyof StoredEntry] };
        const isSame = hexOf(encodeEntry(left)) === hexOf(encodeEntry(changed));
        expect(isSame).toBe(fc.stringify({ ...left }) === fc.stringify(changed));
        expect(hexOf(entryHash(left, sha256)) === hexOf(entryHash(changed, sha256))).toBe(isSame);
      }),
      { numRuns: 1000 },
    );
  });

  test.each([
    ['a negative position', { seq: -1 }],
    ['a position that no number can tell from the next', { seq: 2 ** 53 }],
    ['half a millisecond', { time: 0.5 }],
    ['a time before 1970', { time: -1 }],
    ['no number', { time: Number.NaN }],
    ['a version that would be 1 in four bytes', { version: 2 ** 32 + 1 }],
    ['a version that would be cut to 1', { version: 1.5 }],
    ['a hash that is too short', { previous: new Uint8Array(31) }],
    ['no hash', { previous: new Uint8Array() }],
    ['half a surrogate pair in the origin', { origin: '\ud800' }],
    ['half a surrogate pair in the actor', { actor: 'user:\udc00' }],
    ['half a surrogate pair in the kind', { kind: '\ud800' }],
    ['half a surrogate pair in the data', { data: '"\ud800"' }],
  ])('does not exist for %s', (_what, change) => {
    expect(() => encodeEntry({ ...ENTRY, ...change })).toThrow(invalidEntry);
    expect(() => entryHash({ ...ENTRY, ...change }, sha256)).toThrow(invalidEntry);
  });

  test('is hashed as a leaf of the Merkle tree', () => {
    expect(entryHash(ENTRY, sha256)).toEqual(sha256(concat(new Uint8Array([0]), encodeEntry(ENTRY))));
  });
});

describe('a stored entry', () => {
  test('has a typed view', () => {
    expect(readEntry(ENTRY)).toEqual({
      kind: 'run.ended',
      data: { calls: 3, outcome: 'completed', principal: 'user:ada', run_id: ID, session_id: ID },
    });
  });

  test.each([
    ['white space', DATA.replace(':', ': ')],
    ['a newline at the end', `${DATA}\n`],
    [
      'keys in another order',
      `{"outcome":"completed","calls":3,"principal":"user:ada","run_id":"${ID}","session_id":"${ID}"}`,
    ],
    ['a repeated key', DATA.replace('{', '{"calls":3,')],
    ['another spelling of a number', DATA.replace('3', '3.0')],
    ['a number that programs round', DATA.replace('3', '9007199254740993')],
    ['minus zero', DATA.replace('3', '-0')],
    ['an escape that is not needed', DATA.replace('ada', '\\u0061da')],
    ['a byte order mark', `\ufeff${DATA}`],
    ['nothing', ''],
    ['no JSON', '{'],
    ['null', 'null'],
    ['a list', `[${DATA}]`],
    ['a field of another kind', DATA.replace('{', '{"call_id":null,')],
    ['an actor', DATA.replace('{', '{"actor":"user:eve",')],
    ['a position', DATA.replace('}', ',"seq":1}')],
    ['a time', DATA.replace('}', ',"time":1}')],
    ['a prototype', DATA.replace('{', '{"__proto__":{},')],
  ])('is refused when its data holds or has %s', (_what, data) => {
    expect(() => readEntry({ ...ENTRY, data })).toThrow(invalidEntry);
  });

  test.each([
    ['an unknown kind', { kind: 'run.paused' }],
    ['a name that every object has', { kind: 'constructor' }],
    ['an unknown version', { version: 2 }],
    ['version 0', { version: 0 }],
  ])('is refused when it is of %s', (_what, change) => {
    expect(() => readEntry({ ...ENTRY, ...change })).toThrow(
      expect.objectContaining({ code: 'journal.invalid_entry', fix: 'Use the verifier of a newer release.' }),
    );
  });

  test('is refused, whatever text its data is, with a fault of ours', () => {
    fc.assert(
      fc.property(fc.oneof(fc.json(), fc.string({ unit: 'binary' })), (data) => {
        expect(() => readEntry({ ...ENTRY, data })).toThrow(invalidEntry);
      }),
    );
  });

  // SECURITY: T-31 — the file of a store can be edited so that its columns hold anything.
  test.each([null, undefined, 5, new TextEncoder().encode(DATA), { length: 1 }])(
    'is refused when its data is no text: %o',
    (data) => {
      expect(() => readEntry({ ...ENTRY, data: data as never })).toThrow(invalidEntry);
    },
  );

  test('is refused when its actor is none', () => {
    expect(() => readEntry({ ...ENTRY, actor: 'eve' })).toThrow(
      expect.objectContaining({ code: 'journal.invalid_actor' }),
    );
  });
});

describe('an actor', () => {
  test.each(['user:ada', 'agent:claude-code', 'service:ci/build', 'daemon:palyrad', `user:ada@example.org#${ID}`])(
    'is %s',
    (name) => {
      expect(parseActor(name)).toBe(name);
    },
  );

  test.each([
    '',
    'ada',
    'root:ada',
    'User:ada',
    'user:',
    'user:ada lovelace',
    'user:ada\n',
    'user:-ada',
    'user:ada#',
    `user:ada#${ID}#${ID}`,
    `user:ada#${ID.toLowerCase()}`,
    ' user:ada',
    `user:${'a'.repeat(129)}`,
    'user:ädа',
  ])('is not %j, and the message does not repeat it', (name) => {
    expect(() => parseActor(name)).toThrow(
      expect.objectContaining({
        code: 'journal.invalid_actor',
        message: 'An actor is written as user:NAME, agent:NAME, service:NAME or daemon:NAME.',
      }),
    );
  });
});

describe('what an entry is searched by', () => {
  test('comes from its data', () => {
    expect(
      indexOf('daemon:palyrad', {
        run_id: 'r',
        session_id: 's',
        call_id: 'c',
        principal: 'user:ada',
        tool: 't',
        decision: 'deny',
      }),
    ).toEqual({
      run_id: 'r',
      session_id: 's',
      call_id: 'c',
      principal: 'user:ada',
      tool: 't',
      outcome: 'deny',
    });
  });

  test('is the actor without the device where the data names no principal', () => {
    expect(indexOf(`user:ada#${ID}`, { calls: 3 })).toEqual({
      run_id: null,
      session_id: null,
      call_id: null,
      principal: 'user:ada',
      tool: null,
      outcome: null,
    });
  });
});

test('the lengths of an encoding count bytes, not characters', () => {
  const [, origin] = fieldsOf(encodeEntry({ ...ENTRY, origin: 'é\u{1f600}' }));
  expect(origin).toEqual(utf8('é\u{1f600}'));
});
