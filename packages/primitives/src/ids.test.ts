import fc from 'fast-check';
import { decodeTime, isValid } from 'ulid';
import { expect, test } from 'vitest';
import { type CallId, createIdSource, idTime, parseId, type RunId } from './ids.ts';
import { PrimitivesError } from './primitives-error.ts';

const zeros = (length: number): Uint8Array<ArrayBuffer> => new Uint8Array(length);
const ones = (length: number): Uint8Array<ArrayBuffer> => new Uint8Array(length).fill(255);

const times = fc.integer({ min: 0, max: 2 ** 48 - 1 });

test('the same time and randomness make the same id', () => {
  const ids = createIdSource({ now: () => 1469918176385, random: zeros });
  expect([ids.newId('run'), ids.newId('call'), ids.newId('run')]).toEqual([
    '01ARYZ6S410000000000000000',
    '01ARYZ6S410000000000000001',
    '01ARYZ6S410000000000000002',
  ]);
});

test('a clock that shows the epoch is believed', () => {
  expect(createIdSource({ now: () => 0, random: zeros }).newId('run')).toBe('00000000000000000000000000');
});

test('counting up carries from the low half of the randomness into the high half', () => {
  const ids = createIdSource({
    now: () => 0,
    random: (length) => Uint8Array.from(ones(length), (b, i) => (i < 5 ? 0 : b)),
  });
  expect([ids.newId('run'), ids.newId('run')]).toEqual(['000000000000000000ZZZZZZZZ', '00000000000000000100000000']);
});

test('the largest time and randomness still make a valid id with a successor', () => {
  const ids = createIdSource({ now: () => 2 ** 48 - 1, random: ones });
  expect([ids.newId('run'), ids.newId('run')]).toEqual(['7ZZZZZZZZZFZZZZZZZZZZZZZZZ', '7ZZZZZZZZZG000000000000000']);
});

test('ids of one source only ever grow, whatever the clock does', () => {
  fc.assert(
    fc.property(fc.array(times, { minLength: 2, maxLength: 50 }), (clock) => {
      let tick = 0;
      const ids = createIdSource({ now: () => clock[tick++] ?? 0 });
      const made = clock.map(() => ids.newId('entry'));
      expect(made.toSorted()).toEqual(made);
      expect(new Set(made).size).toBe(made.length);
    }),
  );
});

test('every id is a ULID to others, tells its time and survives parsing', () => {
  fc.assert(
    fc.property(times, (time) => {
      const id = createIdSource({ now: () => time }).newId('grant');
      expect({ valid: isValid(id), theirs: decodeTime(id), ours: idTime(id), parsed: parseId('grant', id) }).toEqual({
        valid: true,
        theirs: time,
        ours: time,
        parsed: id,
      });
    }),
  );
});

test('the compiler keeps ids of different kinds apart', () => {
  const run: RunId = createIdSource().newId('run');
  // @ts-expect-error -- a run is no call
  const call: CallId = run;
  // @ts-expect-error -- text is no id before it is parsed
  const unparsed: RunId = '01ARYZ6S410000000000000000';
  expect([parseId('call', call), parseId('run', unparsed)]).toEqual([run, unparsed]);
});

test('two sources at the same time do not make the same ids', () => {
  const deps = { now: () => 5 };
  expect(createIdSource(deps).newId('run')).not.toBe(createIdSource(deps).newId('run'));
});

test.each([-1, 2 ** 48, Number.NaN, Number.POSITIVE_INFINITY, 1.5])('a clock that shows %s makes no id', (time) => {
  expect(() => createIdSource({ now: () => time }).newId('run')).toThrow(
    expect.objectContaining({ code: 'primitives.clock_out_of_range' }),
  );
});

const good = '01ARYZ6S41TSV4RRFFQ69G5FAV';

test.each([
  ['the empty text', ''],
  ['lower case', good.toLowerCase()],
  ['the letter I for 1', good.replace('1', 'I')],
  ['the letter L for 1', good.replace('1', 'L')],
  ['the letter O for 0', good.replace('0', 'O')],
  ['the letter U', good.replace('T', 'U')],
  ['a first character above 7, which overflows 128 bits', `8${good.slice(1)}`],
  ['one character too few', good.slice(1)],
  ['one character too many', `${good}0`],
  ['a newline at the end', `${good}\n`],
  ['a hyphen', `01ARYZ6S41-${good.slice(11)}`],
  ['full-width digits', good.replace('0', '０')],
  ['a number', 42],
  ['an object that prints an id', { toString: () => good }],
])('%s is not an id', (_what, text) => {
  const thrown = expect.objectContaining({
    code: 'primitives.invalid_id',
    message: 'This is not a valid approval id.',
  });
  expect(() => parseId('approval', text)).toThrow(thrown);
  expect(() => parseId('approval', text)).toThrow(PrimitivesError);
});

test('exactly the canonical alphabet is accepted', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary-ascii', minLength: 26, maxLength: 26 }), (text) => {
      const canonical = /^[0-7][0-9ABCDEFGHJKMNPQRSTVWXYZ]{25}$/.test(text);
      const accepted = (() => {
        try {
          return parseId('run', text) === text;
        } catch {
          return false;
        }
      })();
      expect(accepted).toBe(canonical);
    }),
  );
});
