import { expect, test } from 'vitest';
import { layOutCode } from './code-layout.ts';

const picture = { code: '██\n██\n', texts: ['Scan it, or not.', 'Scan it,\nor not.'] };
const rendered = (columns: number, rows: number) =>
  layOutCode(picture, { columns, rows })?.map(({ code, text }) => `${code}${text}`);

test('the text is beside the code where there is room for both, the widest that there is room for', () => {
  expect(rendered(20, 3)).toEqual(['██  Scan it, or not.', '██']);
  expect(rendered(19, 3)).toEqual(['██  Scan it,', '██  or not.']);
});

test('else below it, and else there is no code, rather than a part of one', () => {
  expect(rendered(11, 6)).toEqual(['██', '██', '', 'Scan it,', 'or not.']);
  expect([rendered(11, 5), rendered(1, 60), rendered(12, 2)]).toEqual([undefined, undefined, undefined]);
});

test('a screen whose size nobody knows gets it all', () => {
  expect(layOutCode(picture, undefined)).toHaveLength(2);
});
