import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type ExportLine, parseExportLine, writeExportLine } from './export-format.ts';

const HASH = 'a'.repeat(64);
const ENTRY = { seq: 1, time: 2, actor: 'user:ada', kind: 'intent', version: 1, data: '{}', hash: HASH } as const;
const HEADER = {
  type: 'header',
  format: 'palyra.export/1',
  origin: 'palyra/x',
  root_key: 'palyra-root+00000000+AAAA',
  bodies: true,
  keys: [],
} as const;

const LINES: readonly ExportLine[] = [
  { ...HEADER, kind: 'range', base: { size: 0, previous: HASH, frontier: [] }, end: 3 },
  { ...HEADER, kind: 'selection', filter: { run: 'x' }, checkpoint: 'note' },
  { ...HEADER, kind: 'selection', filter: {}, checkpoint: 'note', witnessed: { checkpoint: 'note', proof: [HASH] } },
  { type: 'entry', ...ENTRY },
  {
    type: 'entry',
    ...ENTRY,
    bodies: [
      { commitment: HASH, salt: HASH, body: 'AAAA' },
      { commitment: HASH, erased_by: 7 },
    ],
  },
  { type: 'entry', ...ENTRY, previous: HASH, proof: [HASH, HASH] },
  { type: 'checkpoint', size: 3, note: 'note' },
  { type: 'snapshot', digest: HASH, text: '{}' },
  { type: 'end', size: 3, entries: 3 },
];

test.each(LINES)('the line $type $kind is read as it was written', (line) => {
  expect(parseExportLine(writeExportLine(line).slice(0, -1))).toEqual(line);
});

const REFUSED = { code: 'journal.invalid_export' };

test.each([
  ['a second spelling', '{"type":"end","size":3,"entries":3}'],
  ['a space', '{"entries":3, "size":3,"type":"end"}'],
  ['a key twice', '{"entries":3,"size":3,"type":"end","type":"end"}'],
  ['an unknown type', '{"type":"more"}'],
  ['a type that every object has', '{"type":"constructor"}'],
  ['a field more', '{"entries":3,"more":1,"size":3,"type":"end"}'],
  ['a negative size', '{"entries":3,"size":-3,"type":"end"}'],
  ['a size that is text', '{"entries":3,"size":"3","type":"end"}'],
  ['no object', '[]'],
  ['nothing', ''],
])('%s is refused', (_name, line) => {
  expect(() => parseExportLine(line)).toThrow(expect.objectContaining(REFUSED));
});

function spelledAgain(text: string): string {
  try {
    return writeExportLine(parseExportLine(text));
  } catch (error) {
    if ((error as { code?: string }).code === REFUSED.code) return `${text}\n`;
    throw error;
  }
}

test('any text is read or refused, and what is read is spelled the same again', () => {
  const anything = fc.oneof(
    fc.json(),
    fc.string(),
    fc.constantFrom(...LINES.map((line) => writeExportLine(line).trim())),
  );
  fc.assert(
    fc.property(anything, (text) => {
      expect(spelledAgain(text)).toBe(`${text}\n`);
    }),
  );
});
