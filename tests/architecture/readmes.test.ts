import { expect, test } from 'vitest';
import { checkReadmes } from './check-readmes.ts';
import { repositoryOf, thisRepository } from './repository.ts';

const PROSE = 'It decides whether a principal may do something. '.repeat(10);

test('every package and app of this repository has a README that says something', () => {
  expect(checkReadmes(thisRepository())).toEqual([]);
});

test.for([
  ['a missing one', {}, 'packages/policy/README.md: is missing'],
  ['another title', { 'packages/policy/README.md': `# Journal\n\n${PROSE}` }, 'its title does not name policy'],
  ['no title', { 'packages/policy/README.md': `policy\n\n${PROSE}` }, 'its title does not name policy'],
  ['a stub', { 'packages/policy/README.md': '# policy\n\nTo be written.' }, 'less than 400 characters'],
  ['code only', { 'packages/policy/README.md': `# policy\n\n\`\`\`\n${PROSE}\n\`\`\`\n` }, 'less than 400 characters'],
] as const)('%s is refused', ([, readme, sentence]) => {
  expect(checkReadmes(repositoryOf({ 'packages/policy/package.json': '{}', ...readme }))).toEqual([
    expect.stringContaining(sentence),
  ]);
});

test('a title may give the full name', () => {
  const readme = { 'packages/policy/README.md': `# @palyra/policy\n\n${PROSE}` };
  expect(checkReadmes(repositoryOf(readme))).toEqual([]);
});
