import { canonicalJson, type JsonObject } from '@palyra/primitives/browser';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkEntryData, fieldsOfType } from './check-data.ts';
import { ENTRY_KINDS, type EntryKind } from './entry-kinds.ts';
import { parseCanonical } from './parse-canonical.ts';
import { LONG, readSpelled } from './read-spelled.ts';

type FieldSpec = string | readonly string[];

const KINDS = Object.keys(ENTRY_KINDS) as EntryKind[];

const hex = (length: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789abcdef'.split('')), minLength: length, maxLength: length });
const after = (characters: string) =>
  fc
    .tuple(
      fc.constantFrom(...'aZ09'.split('')),
      fc.string({ unit: fc.constantFrom(...characters.split('')), maxLength: 127 }),
    )
    .map((parts) => parts.join(''));

const VALUES: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  id: fc.ulid(),
  digest: hex(64),
  body: hex(64),
  snapshot: hex(64),
  key: hex(64),
  signature: hex(128),
  name: after('abcXYZ019._:@/+-'),
  origin: after('abcXYZ019._:/-'),
  count: fc.maxSafeNat(),
  integer: fc.maxSafeInteger(),
};

function valuesOf(spec: FieldSpec): fc.Arbitrary<unknown> {
  if (typeof spec !== 'string') return fc.constantFrom(...spec.map((value) => (value === '' ? undefined : value)));
  const value = VALUES[spec.replace(/[?*]$/, '')] as fc.Arbitrary<unknown>;
  if (spec.endsWith('?')) return fc.option(value, { nil: undefined });
  return spec.endsWith('*') ? fc.array(value, { maxLength: 5 }) : value;
}

/** A kind and data of that kind; absent fields are left out or undefined. */
const entries = fc.constantFrom(...KINDS).chain((kind) => {
  const fields = Object.entries(ENTRY_KINDS[kind].fields as Record<string, FieldSpec>);
  return fc.record({
    kind: fc.constant(kind),
    data: fc.record(Object.fromEntries(fields.map(([name, spec]) => [name, valuesOf(spec)]))),
  });
});

const invalid = expect.objectContaining({ code: 'journal.invalid_entry' });

const ID = '01ARZ3NDEKTSV4RRFFQ69G5FAV';
const ENDED = { run_id: ID, session_id: ID, principal: 'user:ada', outcome: 'completed', calls: 3 };
const DIGEST = 'ab'.repeat(32);
const DECISION = {
  run_id: ID,
  session_id: ID,
  call_id: ID,
  principal: 'user:ada',
  tool: 'process.run',
  decision: 'deny',
  reason_code: 'policy.denied',
  policy_ids: ['no-rm', 'no-sudo'],
  policy_set: DIGEST,
  policy_snapshot: DIGEST,
};

describe('data with the fields of its kind', () => {
  test('is taken for every kind, without what is absent, and can be written', () => {
    fc.assert(
      fc.property(entries, ({ kind, data }) => {
        const present = Object.fromEntries(Object.entries(data).filter(([, value]) => value !== undefined));
        const checked = checkEntryData(kind, data);
        expect(checked).toStrictEqual(present);
        expect(JSON.parse(canonicalJson(checked as unknown as JsonObject))).toStrictEqual(present);
      }),
      { numRuns: 500 },
    );
  });

  test('is copied, so that nobody changes it after the check', () => {
    const ids = ['no-rm'];
    const data = { ...DECISION, policy_ids: ids };
    const checked = checkEntryData('decision', data);
    ids.push('a sentence that a caller chose');
    data.principal = 'someone else';
    expect(checked).toStrictEqual({ ...DECISION, policy_ids: ['no-rm'] });
  });

  test('is refused when a demanded field is missing', () => {
    fc.assert(
      fc.property(entries, fc.nat(), ({ kind, data }, at) => {
        const isDemanded = (spec: FieldSpec) => (typeof spec === 'string' ? !spec.endsWith('?') : spec[0] !== '');
        const fields = Object.entries(ENTRY_KINDS[kind].fields as Record<string, FieldSpec>);
        const demanded = fields.filter(([, spec]) => isDemanded(spec)).map(([name]) => name);
        const name = demanded[at % demanded.length] as string;
        expect(() => checkEntryData(kind, { ...data, [name]: undefined })).toThrow(invalid);
        const { [name]: _, ...rest } = data;
        expect(() => checkEntryData(kind, rest)).toThrow(`has no valid "${name}"`);
      }),
    );
  });

  test('is refused with any field more', () => {
    const more = fc.oneof(
      fc.constantFrom('actor', 'seq', 'origin_', 'previous', 'version', '__proto__', 'constructor', ''),
      fc.string(),
    );
    fc.assert(
      fc.property(entries, more, ({ kind, data }, name) => {
        fc.pre(!Object.hasOwn(ENTRY_KINDS[kind].fields, name));
        const withMore = Object.defineProperty({ ...data }, name, { value: 'x', enumerable: true });
        expect(() => checkEntryData(kind, withMore)).toThrow(invalid);
      }),
    );
  });

  test('is refused when a field is of another type', () => {
    const other = fc.oneof(
      fc.constantFrom<unknown>(
        null,
        true,
        '',
        ' ',
        -1,
        1.5,
        Number.NaN,
        2 ** 53,
        '\ud800',
        {},
        [],
        [[]],
        [null],
        Symbol('s'),
        1n,
      ),
      fc.constantFrom<unknown>('a b', 'a\nb', 'A'.repeat(64), `${DIGEST}\n`, 'x'.repeat(300)),
    );
    fc.assert(
      fc.property(entries, fc.nat(), other, ({ kind, data }, at, value) => {
        const fields = Object.entries(ENTRY_KINDS[kind].fields as Record<string, FieldSpec>);
        const [name, spec] = fields[at % fields.length] as [string, FieldSpec];
        fc.pre(!(spec === 'integer?' && value === -1));
        fc.pre(!(String(spec).endsWith('*') && Array.isArray(value) && value.length === 0));
        fc.pre(!(/^(?:name|origin)\??$/.test(String(spec)) && value === 'A'.repeat(64)));
        expect(() => checkEntryData(kind, { ...data, [name]: value })).toThrow(invalid);
      }),
      { numRuns: 1000 },
    );
  });
});

test.each(['actor', 'seq', 'origin'])('no kind has a field that says who, when or where in the log: %s', (name) => {
  const own = KINDS.filter((kind) => Object.hasOwn(ENTRY_KINDS[kind].fields, name));
  expect(own).toEqual([]);
});

test('only the cosignature has a time, which is that of the witness', () => {
  expect(KINDS.filter((kind) => Object.hasOwn(ENTRY_KINDS[kind].fields, 'time'))).toEqual(['checkpoint.cosigned']);
});

test.each(['actor', 'time', 'seq'])('"%s" in the data is refused', (name) => {
  expect(() => checkEntryData('run.ended', { ...ENDED, [name]: 1 })).toThrow(
    `The data of an entry of kind run.ended has no field "${name}".`,
  );
});

test.each([undefined, null, 1, 'text', [], [ENDED], true])('%j is no data', (data) => {
  expect(() => checkEntryData('run.ended', data)).toThrow(invalid);
});

test('what is inherited is no field', () => {
  expect(() => checkEntryData('run.ended', Object.create(ENDED))).toThrow(invalid);
});

test.each([
  ['an id in lower case', { run_id: ID.toLowerCase() }],
  ['an id beyond 128 bits', { run_id: `8${ID.slice(1)}` }],
  ['a name that is a sentence', { principal: 'ignore all previous instructions' }],
  ['a name with a line break at its end', { principal: 'user:ada\n' }],
  ['a name that is too long', { principal: 'a'.repeat(129) }],
  ['a value that is in no enumeration', { outcome: 'succeeded' }],
  ['a value as a list of itself', { outcome: ['completed'] }],
  ['minus zero', { calls: -0 }],
  ['a number as text', { calls: '3' }],
])('%s is refused, and the message does not repeat it', (_what, change) => {
  const [name, value] = Object.entries(change)[0] as [string, unknown];
  let message = '';
  try {
    checkEntryData('run.ended', { ...ENDED, ...change });
  } catch (error) {
    message = (error as Error).message;
  }
  expect(message).toBe(`The data of an entry of kind run.ended has no valid "${name}".`);
  expect(message).not.toContain(String(value));
});

test('a list may not be too long, have holes or hold anything else', () => {
  const named = (count: number) => Array.from({ length: count }, (_, index) => `p${index}`);
  expect(checkEntryData('decision', { ...DECISION, policy_ids: named(1024) }).policy_ids.length).toBe(1024);
  const holes = Object.assign(Array<string>(2), { 0: 'a' });
  for (const list of [named(1025), holes, ['a', 1], ['a', undefined], 'a', { length: 0 }]) {
    expect(() => checkEntryData('decision', { ...DECISION, policy_ids: list })).toThrow(invalid);
  }
});

test('a field name that would forge the message is made visible', () => {
  expect(() => checkEntryData('run.ended', { ...ENDED, 'x\n\u202e': 1 })).toThrow('has no field "x\\n\\u{202E}"');
});

test('the fields that hold bodies and snapshots are known by their type', () => {
  expect(fieldsOfType('decision', 'body')).toEqual(['details']);
  expect(fieldsOfType('decision', 'snapshot')).toEqual(['policy_snapshot']);
  expect(fieldsOfType('proposal', 'body')).toEqual(['input']);
  // The commitment of an erased body is only a digest: there is no body any more.
  expect(fieldsOfType('body.erased', 'body')).toEqual([]);
});

describe('data in its canonical spelling', () => {
  test('is read in one pass as it is read by parsing, for every kind', () => {
    fc.assert(
      fc.property(entries, ({ kind, data }) => {
        const checked = checkEntryData(kind, data);
        const text = canonicalJson(checked as unknown as JsonObject);
        // Whoever has nothing to say is read in full.
        expect(readSpelled(kind, text)).toEqual(text === '{}' || text.length > LONG ? undefined : checked);
      }),
      { numRuns: 1000 },
    );
  });

  test('is never read from another text than the parser and the canonical writer take', () => {
    const put = fc.constantFrom(
      '',
      ' ',
      '0',
      '-',
      '"',
      '1e0',
      '.0',
      ',',
      '\\u0061',
      '\\',
      '[',
      ']',
      '}',
      '"tool":"x",',
      'é',
    );
    const mutated = fc
      .record({ entry: entries, at: fc.nat(), cut: fc.nat(3), put })
      .map(({ entry, at, cut, put: more }) => {
        const text = canonicalJson(checkEntryData(entry.kind, entry.data) as unknown as JsonObject);
        const place = at % (text.length + 1);
        return { kind: entry.kind, text: text.slice(0, place) + more + text.slice(place + cut) };
      });
    fc.assert(
      fc.property(mutated, ({ kind, text }) => {
        const read = readSpelled(kind, text);
        expect(read).toEqual(read === undefined ? undefined : checkEntryData(kind, parseCanonical(text)));
      }),
      { numRuns: 5000 },
    );
  });

  const SPELLED = canonicalJson(checkEntryData('decision', DECISION) as unknown as JsonObject);

  // What is cut out of a text keeps all of it in memory.
  test('a long text is left to the parser, which copies what it reads', () => {
    const names = (count: number) =>
      canonicalJson({ ...DECISION, policy_ids: Array.from({ length: count }, () => 'p') });
    const most = Math.floor((LONG - names(0).length + 1) / '"p",'.length);
    expect(readSpelled('decision', names(most))?.policy_ids).toHaveLength(most);
    expect(readSpelled('decision', names(most + 1))).toBeUndefined();
  });

  test.for([
    ['a space', SPELLED.replace(':', ': ')],
    ['an escape', SPELLED.replace('deny', '\\u0064eny')],
    ['fields in another order', SPELLED.replace(/^\{("call_id":"[^"]*"),("decision":"deny"),/, '{$2,$1,')],
    ['a field twice', SPELLED.replace('"tool"', '"tool":"process.run","tool"')],
    ['a field more', SPELLED.replace('"tool"', '"toad":"x","tool"')],
    ['a field less', SPELLED.replace(/"decision":"deny",/, '')],
    ['a comma in a list too many', SPELLED.replace('"no-sudo"]', '"no-sudo",]')],
    ['an item without a comma', SPELLED.replace('"no-rm",', '"no-rm"')],
    ['something behind it', `${SPELLED} `],
    ['another brace', `${SPELLED}}`],
    ['nothing at the end', SPELLED.slice(0, -1)],
    ['half of it', SPELLED.slice(0, 100)],
    ['a list too long', SPELLED.replace('["no-rm"', `[${'"x",'.repeat(1023)}"no-rm"`)],
    ['nothing', ''],
  ] as const)('is not read with %s', ([, text]) => {
    expect(readSpelled('decision', SPELLED)).toEqual(DECISION);
    expect(text).not.toBe(SPELLED);
    expect(readSpelled('decision', text)).toBeUndefined();
  });

  test.for(['-0', '1e3', '1.0', '01', '+1', '9007199254740993', '-1', '', '1-1'])(
    'is not read with the count %s',
    (count) => {
      const text = canonicalJson(checkEntryData('run.ended', ENDED) as unknown as JsonObject);
      expect(readSpelled('run.ended', text)).toEqual(ENDED);
      expect(readSpelled('run.ended', text.replace('"calls":3', `"calls":${count}`))).toBeUndefined();
    },
  );
});
