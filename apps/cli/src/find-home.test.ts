import { expect, test } from 'vitest';
import { findHome, type HomeContext, resolvePath } from './find-home.ts';

function gone(): never {
  throw new Error('ENOENT');
}

function context(more: Partial<HomeContext> = {}): HomeContext {
  return {
    home: undefined,
    variables: {},
    userHome: () => '/home/ada',
    workingDirectory: () => '/work',
    ...more,
  };
}

test.each([
  [{}, '/home/ada/.palyra'],
  [{ variables: { PALYRA_HOME: '/srv/p' } }, '/srv/p'],
  [{ variables: { PALYRA_HOME: '/srv/p' }, home: 'here/../there' }, '/work/there'],
  [{ home: '/abs/p', workingDirectory: gone, userHome: gone }, '/abs/p'],
])('%j leads to %s', (more, root) => {
  expect(findHome(context(more)).home.root).toBe(root);
});

test.each([
  [{ home: 'here', workingDirectory: gone }, 'cli.no_directory'],
  [{ userHome: gone }, 'cli.no_directory'],
  [{ userHome: () => '' }, 'config.invalid_home'],
  [{ home: '/' }, 'config.invalid_home'],
  [{ home: '/abs', variables: { PALYRA_LOG: 'loud' } }, 'config.invalid_environment'],
])('%j is refused with %s', (more, code) => {
  expect(() => findHome(context(more))).toThrow(expect.objectContaining({ code }));
});

test('an absolute path needs no working directory', () => {
  expect(resolvePath('/a/./b', context({ workingDirectory: gone }))).toBe('/a/b');
});
