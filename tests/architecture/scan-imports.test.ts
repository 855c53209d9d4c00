/* biome-ignore-all lint/suspicious/noTemplateCurlyInString: these strings are sources of programs. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { scanImports } from './scan-imports.ts';

function specifiers(source: string): string[] {
  return scanImports(source).map(({ specifier }) => specifier);
}

test.for([
  ["import 'side-effect';", ['side-effect']],
  ["import value from 'default';", ['default']],
  ['import { a, type B as C } from "named";', ['named']],
  ["import d, * as all from 'namespace';", ['namespace']],
  ["import type { T } from 'types-too';", ['types-too']],
  ["import { from } from 'from-as-name';", ['from-as-name']],
  ["import { 'quoted name' as q } from 'quoted';", ['quoted']],
  ["import {\n  a, // 'not this'\n  b,\n} from 'many-lines';", ['many-lines']],
  ["import data from './data.json' with { type: 'json' };", ['./data.json']],
  ["export * from 'all';", ['all']],
  ["export * as name from 'all-as';", ['all-as']],
  ["export { a } from 'again';", ['again']],
  ["export type { T } from 'type-again';", ['type-again']],
  ["const m = await import('dynamic');", ['dynamic']],
  ['const m = await import(`template`);', ['template']],
  ["type T = import('in-a-type').T;", ['in-a-type']],
  ["const m = require('common');", ['common']],
  ["process.getBuiltinModule('node:child_process');", ['node:child_process']],
  ["import a from 'x'; import b from 'y'", ['x', 'y']],
  ["#!/usr/bin/env node\nimport 'after-hashbang';", ['after-hashbang']],
] as const)('%j names %j', ([source, expected]) => {
  expect(specifiers(source)).toEqual(expected);
});

test.for([
  "// import 'comment';",
  "/* import 'comment';\n * from 'x' */",
  'const text = "import \'x\'";',
  "const text = `import 'x' ${call(`import 'y'`)} import 'z'`;",
  "const regex = /import 'x'/;",
  "const regex = [/['\"`]/, /[/'] import 'x'/];",
  'return /`/.test(a) || b;',
  "object.import('x'); object.require('y');",
  'const url = import.meta.url;',
  "export const a = 1; const from = 'x';",
  "export { a };\nconst b = 'x';",
  "export default 'x';",
  "declare module 'x' {}",
  'await import(computed);',
  'const half = a / b; const text = "import \'x\'"; const c = d / e;',
])('%j names nothing', (source) => {
  expect(specifiers(source)).toEqual([]);
});

test.for([
  ['a template with a regular expression in it', 'const t = `${a.replace(/`/g, "")}`;'],
  ['a template with an object in it', "const t = `${f({ a: { b: `}` } })} it's`;"],
  ['a division after a call', "const a = f(b) / 2 + c / 3; // it's"],
  ['an escaped quote', "const a = 'it\\'s';"],
  ['a regular expression with a slash in a class', 'const a = x.match(/[/\'"`]+/);'],
  ['an unbalanced apostrophe as in JSX text', "<p>Don't</p>"],
  ['a private name and a decorator sign', 'class A { #b = 1; c() { return this.#b / 2; } }'],
  ['a division after an increment', 'const a = i++ / 2;'],
])('an import is found behind %s', ([, before]) => {
  expect(specifiers(`${before}\nimport 'found';`)).toEqual(['found']);
});

test('the line of each site is right, behind templates and comments of many lines too', () => {
  const source = "/* 1\n2 */\nconst t = `3\n4 ${\n5} 5\n6`;\nimport 'seven';\n\nawait import('nine');";
  expect(scanImports(source)).toEqual([
    { specifier: 'seven', line: 7 },
    { specifier: 'nine', line: 9 },
  ]);
});

test('any text inside a comment, string or template hides nothing and adds nothing', () => {
  const text = fc.string().map((value) => `${value} import 'inside'; from "inside" ${value}`);
  fc.assert(
    fc.property(text, (value) => {
      const hidden = [
        `/* ${value.replaceAll('*/', '')} */`,
        `// ${value.replaceAll(/[\n\r\u2028\u2029]/g, '')}`,
        `const s = ${JSON.stringify(value)};`,
        `const t = \`${value.replaceAll(/[\\`$]/g, '\\$&')}\`;`,
      ].join('\n');
      expect(specifiers(`${hidden}\nimport 'found';`)).toEqual(['found']);
    }),
  );
});

test('no input makes it fail or hang', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'\'"`${}/*[]\\\n aimport'.split('')) }), (source) => {
      expect(() => scanImports(source)).not.toThrow();
    }),
  );
});
