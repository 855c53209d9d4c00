import { expect, it } from 'vitest';
import { programLines, withoutPrograms } from './rebase-todo.ts';

const TODO = Buffer.from('pick 1 exec\nexec a\n  x b\n\tx\nexecute c\n# exec d\nexec\r\nlabel x\n');

it('has programs by both of their names, as git reads them', () => {
  expect(programLines(TODO)).toEqual(['exec a', '  x b', '\tx', 'exec\r']);
});

it('is the same without those that are new', () => {
  expect(withoutPrograms(TODO, ['exec a']).toString()).toBe('pick 1 exec\nexec a\nexecute c\n# exec d\nlabel x\n');
});
