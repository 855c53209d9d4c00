import fc from 'fast-check';
import { parse } from 'smol-toml';
import { expect, test } from 'vitest';
import { type KeyLocation, type KeyPath, locateKeys } from './locate-keys.ts';
import { createPositionFinder } from './text-position.ts';

function located(text: string): Record<string, string> {
  parse(text);
  const positionAt = createPositionFinder(text);
  const lines = locateKeys(text).locations.map(({ path, key, value }) => {
    const { line, column } = positionAt(key.start);
    return [
      path.join('/'),
      `${line}:${column} ${value === undefined ? '' : text.slice(value.start, value.end)}`.trim(),
    ];
  });
  return Object.fromEntries(lines);
}

test('plain, dotted and quoted keys under the root and under tables', () => {
  expect(located('top = 1 # one\n[storage]\n  url = ""\n"pool size" . max=2\n[ log . "a.b" ]\nlevel = \'x\'')).toEqual({
    top: '1:1 1',
    storage: '2:2',
    'storage/url': '3:3 ""',
    'storage/pool size': '4:1',
    'storage/pool size/max': '4:15 2',
    log: '5:3',
    'log/a.b': '5:9',
    'log/a.b/level': "6:1 'x'",
  });
});

test('inline tables and arrays, also over several lines', () => {
  expect(located('a = { b = [1, {c = 2}, # no ] here\n "x,y",], d.e = 1979-05-27 07:32:00 }\nf = []\ng = {}')).toEqual({
    a: '1:1 { b = [1, {c = 2}, # no ] here\n "x,y",], d.e = 1979-05-27 07:32:00 }',
    'a/b': '1:7 [1, {c = 2}, # no ] here\n "x,y",]',
    'a/b/0': '1:12 1',
    'a/b/1': '1:15 {c = 2}',
    'a/b/1/c': '1:16 2',
    'a/b/2': '2:2 "x,y"',
    'a/d': '2:11',
    'a/d/e': '2:13 1979-05-27 07:32:00',
    f: '3:1 []',
    g: '4:1 {}',
  });
});

test('arrays of tables are counted, and their sub-tables belong to the last one', () => {
  expect(located('[[a]]\nx = 1\n[[a.b]]\n[[a]]\n[a.c]\ny = 2')).toEqual({
    a: '1:3',
    'a/0': '1:3',
    'a/0/x': '2:1 1',
    'a/0/b': '3:5',
    'a/0/b/0': '3:5',
    'a/1': '4:3',
    'a/1/c': '5:4',
    'a/1/c/y': '6:1 2',
  });
});

test('what stands inside strings and comments is not a key', () => {
  const text = `a = """\nb = 1\n[c]\n\\"""" # d = 1\n#e = 1\nf = '''\ng = "1'''''\r\nh = "\\"i = 1"\nj = '\\'\nk = 1`;
  expect(Object.keys(located(text))).toEqual(['a', 'f', 'h', 'j', 'k']);
});

test('blocks say where a table ends and where its last value does', () => {
  const text = 'a = 1\n\n[b]\n[c] # c\nd = [\n2]  # two\n# end\n';
  expect(locateKeys(text).blocks).toEqual([
    { path: [], start: 0, end: 7, lastValueEnd: 5 },
    { path: ['b'], start: 10, end: 11, lastValueEnd: 10 },
    { path: ['c'], start: 14, end: text.length, lastValueEnd: text.indexOf(']  # two') + 1 },
  ]);
});

const KEY_TEXTS = ['a', 'b', 'c-1', '"a b"', '"é\\t\\u0041"', "'c.d'", "'\"'", '"a"', '""', '"__proto__"'];
const WORDS = ['x', '#', ' = ', '[a]', '{', '}', ',', "'", '"', "''", '""', '\\', 'é', '😀'];
const gap = fc.constantFrom('', ' ', '\t ');
const keyText = fc
  .array(fc.tuple(fc.constantFrom(...KEY_TEXTS), gap), { minLength: 1, maxLength: 3 })
  .map((parts) => parts.map(([key, blank]) => `${blank}${key}${blank}`).join('.'));

/** Values are unique by the `@` that `toml` replaces with a number, so that a wrong span cannot pass for the right one. */
const { value } = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom('@', '@.5', 'true', 'inf', '1979-05-27', '1979-05-27 07:32:00', '0x@'),
    fc.array(fc.constantFrom(...WORDS)).map((words) => JSON.stringify(`${words.join('')}@`)),
    fc.array(fc.constantFrom(...WORDS)).map((words) => `'${words.join('').replaceAll("'", '')}@'`),
    fc
      .tuple(fc.array(fc.constantFrom(...WORDS, '\n', '\r\n')), fc.constantFrom('', "'", "''"))
      .map(([words, quotes]) => `'''${words.join('')}@${quotes}'''`),
    fc
      .tuple(fc.array(fc.constantFrom(...WORDS, '\n', '\\\n  ')), fc.constantFrom('', '"', '""'))
      .map(([words, quotes]) => `"""${words.join('').replaceAll(/\\(?!\n)/g, '\\\\')}@${quotes}"""`),
    fc
      .tuple(fc.array(tie('value')), fc.constantFrom(', ', ',\n', ' , # ]\n'), fc.constantFrom('', '\n'))
      .map(([items, comma, end]) => `[${items.join(comma)}${end}]`),
    fc
      .array(fc.tuple(keyText, tie('value')), { maxLength: 3 })
      .map((pairs) => `{${pairs.map(([key, item]) => `${key}=${item}`).join(', ')}}`),
  ),
}));

const statement = fc.oneof(
  {
    arbitrary: fc
      .tuple(gap, keyText, gap, value, fc.constantFrom('', '  ', ' # a = "'))
      .map(([left, key, right, text, end]) => `${left}${key}=${right}${text}${end}`),
    weight: 4,
  },
  keyText.map((key) => `[${key}]`),
  keyText.map((key) => `[[${key}]] # [x]`),
  fc.constantFrom('', '# a = 1', '   # "'),
);

const toml = fc
  .tuple(fc.array(statement, { maxLength: 14 }), fc.constantFrom('\n', '\r\n'))
  .map(([statements, newline]) => {
    let count = 0;
    const numbered = statements.map((text) => text.replaceAll('@', () => String(++count)));
    const accepted: string[] = [];
    for (const text of numbered) if (isToml([...accepted, text].join(newline))) accepted.push(text);
    return accepted.join(newline);
  });

function isToml(text: string): boolean {
  try {
    parse(text);
    return true;
  } catch {
    return false;
  }
}

function pathsOf(node: unknown, path: KeyPath = []): readonly { path: KeyPath; node: unknown }[] {
  const here = path.length === 0 ? [] : [{ path, node }];
  if (Array.isArray(node)) return [...here, ...node.flatMap((item, index) => pathsOf(item, [...path, index]))];
  if (typeof node !== 'object' || node === null || node instanceof Date) return here;
  return [...here, ...Object.entries(node).flatMap(([key, item]) => pathsOf(item, [...path, key]))];
}

function readBack(
  text: string,
  location: KeyLocation | undefined,
): { name: unknown; value: unknown; isTight: boolean } {
  const { path, key, value: span } = location ?? { path: [], key: { start: 0, end: 0 }, value: undefined };
  const name =
    typeof path.at(-1) === 'string' ? Object.keys(parse(`${text.slice(key.start, key.end)} = 1`))[0] : undefined;
  const written = text.slice(span?.start ?? 0, span?.end ?? 0);
  return {
    name,
    value: span === undefined ? undefined : parse(`v = ${written}`)['v'],
    isTight: written === written.trim(),
  };
}

test('every key of any document is found, with exactly its own text and value, and nothing else is', () => {
  fc.assert(
    fc.property(toml, (text) => {
      const map = locateKeys(text);
      // Deeper ones are left out by design.
      const expected = pathsOf(parse(text)).filter(({ path }) => path.length <= 16);
      expect(new Set(map.locations.map(({ path }) => JSON.stringify(path)))).toEqual(
        new Set(expected.map(({ path }) => JSON.stringify(path))),
      );
      expect(expected.map(({ path }) => readBack(text, map.find(path)))).toEqual(
        expected.map(({ path, node }) => ({
          name: typeof path.at(-1) === 'string' ? path.at(-1) : undefined,
          value: map.find(path)?.value === undefined ? undefined : node,
          isTight: true,
        })),
      );
    }),
    { numRuns: 1000 },
  );
});

test('keys deeper than any setting are passed over, and those after them are still found', () => {
  const deep = Array.from({ length: 18 }, (_, index) => `a${index}`);
  const text = `${deep.join('.')} = [1]\nb = 2\n[${deep.join('.')}.c]\nd = { e = 3 }\n[f]\ng = 4\n`;
  const { locations, blocks } = locateKeys(text);
  expect(locations.map(({ path }) => path)).toEqual([
    ...Array.from({ length: 16 }, (_, index) => deep.slice(0, index + 1)),
    ['b'],
    ['f'],
    ['f', 'g'],
  ]);
  expect(blocks.map(({ path }) => path.length)).toEqual([0, 17, 1]);
});
