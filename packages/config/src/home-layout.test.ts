import fc from 'fast-check';
import { expect, test } from 'vitest';
import { defaultHome, homeLayout } from './home-layout.ts';

test('everything lies in the home', () => {
  expect(homeLayout('/home/ada/./.palyra//')).toEqual({
    root: '/home/ada/.palyra',
    configFile: '/home/ada/.palyra/palyra.toml',
    policies: '/home/ada/.palyra/policies',
    database: '/home/ada/.palyra/palyra.db',
    bodies: '/home/ada/.palyra/bodies',
    identity: '/home/ada/.palyra/identity',
    vault: '/home/ada/.palyra/vault',
    skills: '/home/ada/.palyra/skills',
    modules: '/home/ada/.palyra/modules',
  });
  expect(defaultHome('/home/ada')).toBe('/home/ada/.palyra');
});

test.each(['', '.', 'palyra', './palyra', '~/.palyra', '/', '//', '/.', '/a/..', '/a/../b', '/a\0b'])(
  '%j is refused as a home',
  (path) => {
    expect(() => homeLayout(path)).toThrow(expect.objectContaining({ code: 'config.invalid_home' }));
  },
);

test('an accepted home is accepted again as it is', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom('a', '.', '/', 'b c', '..c'), { minLength: 1 }), (parts) => {
      const path = `/x${parts.join('/')}`;
      fc.pre(!path.split('/').includes('..'));
      const { root } = homeLayout(path);
      expect(homeLayout(root).root).toBe(root);
    }),
  );
});
