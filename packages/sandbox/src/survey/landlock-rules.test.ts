import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type DirectoryFiles, isFresh, landlockRules } from './landlock-rules.ts';

/** Directories end in a slash. */
function tree(paths: readonly string[], links: readonly string[] = [], version = 1): DirectoryFiles {
  const all = new Set(paths.flatMap(withAncestors));
  return {
    list(directory) {
      const prefix = directory === '/' ? '/' : `${directory}/`;
      const names = [...all]
        .filter((path) => path.startsWith(prefix) && path !== prefix)
        .map((path) => path.slice(prefix.length).split('/')[0] ?? '');
      return [...new Set(names)].map((name) => ({ name, isLink: links.includes(prefix + name) }));
    },
    identity: () => undefined,
    fileId: () => undefined,
    stamp: (directory) => (directory === '/' || all.has(directory) ? String(version) : undefined),
  };
}

function withAncestors(path: string): readonly string[] {
  const parts = path.split('/').slice(1);
  return parts.map((_, at) => `/${parts.slice(0, at + 1).join('/')}`);
}

const HOST = tree([
  '/usr/bin/git',
  '/etc/passwd',
  '/home/ada/.ssh/id',
  '/home/ada/.palyra/db',
  '/home/ada/src/a',
  '/tmp/x',
]);

describe('what Landlock leaves to a Tier B tool', () => {
  it('is everything but the hidden places, which the directories above are gone through for', () => {
    expect(landlockRules({ hidden: ['/home/ada/.ssh', '/home/ada/.palyra'], readOnly: [] }, HOST).rules).toEqual([
      { path: '/usr', access: 'write' },
      { path: '/etc', access: 'write' },
      { path: '/home/ada/src', access: 'write' },
      { path: '/tmp', access: 'write' },
    ]);
  });

  it('lets a read-only place be read', () => {
    expect(landlockRules({ hidden: [], readOnly: ['/home/ada/src'] }, HOST).rules).toContainEqual({
      path: '/home/ada/src',
      access: 'read',
    });
  });

  it('hides what lies in a read-only place, of which the rest is read-only all the same', () => {
    const app = tree(['/work/.env', '/work/src/a', '/work/keys/id', '/work/keys/doc', '/tmp/x']);
    const carved = { hidden: ['/work/.env', '/work/keys/id'], readOnly: ['/work'] };
    expect(landlockRules(carved, app).rules).toEqual([
      { path: '/work/src', access: 'read' },
      { path: '/work/keys/doc', access: 'read' },
      { path: '/tmp', access: 'write' },
    ]);
  });

  it('has no rule for a link: it would be one for what it points to', () => {
    const linked = tree(['/home/ada/.ssh/id', '/h'], ['/h']);
    const { rules } = landlockRules({ hidden: ['/home/ada/.ssh'], readOnly: [] }, linked);
    expect(rules.map(({ path }) => path)).not.toContain('/h');
  });

  it('reaches what is needed through a directory that can be entered and not listed', () => {
    const closed = { ...HOST, list: (directory: string) => (directory === '/home' ? undefined : HOST.list(directory)) };
    const carved = { hidden: ['/home/ada/.ssh', '/home/ada/.palyra'], readOnly: [] };
    const inHome = (needed: readonly string[]) =>
      landlockRules({ ...carved, needed }, closed).rules.filter(({ path }) => path.startsWith('/home'));
    expect(inHome(['/home/ada/src'])).toEqual([{ path: '/home/ada/src', access: 'write' }]);
    // Others in it are not known, so they stay out of reach.
    expect(inHome(['/home/eve'])).toEqual([
      { path: '/home/ada/src', access: 'write' },
      { path: '/home/eve', access: 'write' },
    ]);
  });

  it('is looked up again when a directory that was gone through has changed', () => {
    const plan = landlockRules({ hidden: ['/home/ada/.ssh'], readOnly: [] }, HOST);
    expect(isFresh(plan, HOST)).toBe(true);
    expect(isFresh(plan, tree(['/home/ada/.ssh/id'], [], 2))).toBe(false);
    expect(isFresh(plan, tree(['/usr'], [], 1))).toBe(false);
  });

  it('never covers a hidden place, nor anything in or above it', () => {
    const segment = fc.constantFrom('a', 'b', 'c');
    const path = fc.array(segment, { minLength: 1, maxLength: 4 }).map((parts) => `/${parts.join('/')}`);
    const some = fc.array(path, { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(fc.array(path, { minLength: 1 }), some, fc.array(path), (files, hidden, readOnly) => {
        const { rules } = landlockRules({ hidden, readOnly }, tree(files));
        const written = rules.filter(({ access }) => access === 'write').map((rule) => rule.path);
        const isBelow = (place: string) => (file: string) => file === place || file.startsWith(`${place}/`);
        expect(readOnly.filter((place) => written.some(isBelow(place)))).toEqual([]);
        for (const place of hidden) {
          const covering = rules.filter((rule) => place === rule.path || place.startsWith(`${rule.path}/`));
          // Allowed above a place that does not exist on this host: there is nothing to hide.
          const real = covering.filter(() => files.some((file) => file === place || file.startsWith(`${place}/`)));
          expect(real).toEqual([]);
        }
      }),
    );
  });
});
