import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createVirtualFiles, type DirectoryNode, type VirtualNode } from './virtual-files.ts';
import { walkPath } from './walk-path.ts';

function files() {
  const made = createVirtualFiles({
    prefixes: [
      {
        path: '/data',
        access: 'read',
        entries: [
          { kind: 'file', path: 'a/b/file', base64: '' },
          { kind: 'link', path: 'a/up', target: '..' },
          { kind: 'link', path: 'out', target: '../../etc/passwd' },
          { kind: 'link', path: 'a/loop', target: 'loop' },
          { kind: 'link', path: 'abs', target: '/etc/passwd' },
        ],
      },
      { path: '/other', access: 'write', entries: [{ kind: 'file', path: 'secret', base64: '' }] },
    ],
    fileBytes: 1000,
    now: () => 0n,
  });
  return made.roots.map(({ node }) => node) as [DirectoryNode, DirectoryNode];
}

const end = (root: DirectoryNode, path: string) => {
  try {
    return walkPath(root, path, true).node?.kind;
  } catch (error) {
    return (error as Error).message;
  }
};

test('a path leads where it says, and never out of its prefix', () => {
  const [root] = files();
  const paths = [
    'a/b/file',
    'a/up/a/b/file',
    'a/../a/./b//file',
    'a/b/file/',
    'a/b/none',
    '..',
    'a/up/..',
    'out',
    'abs',
    '/a',
    'a/loop',
    'a/b/..',
  ];
  expect(paths.map((path) => end(root, path))).toEqual([
    'file',
    'file',
    'file',
    'notdir',
    undefined,
    'perm',
    'perm',
    'perm',
    'perm',
    'perm',
    'loop',
    'directory',
  ]);
});

test('whatever a path is made of, it ends below the prefix or in an error', () => {
  const [root] = files();
  const below = new Set<VirtualNode>();
  const visit = (node: VirtualNode): void => {
    below.add(node);
    if (node.kind === 'directory') for (const { node: child } of node.entries.values()) visit(child);
  };
  visit(root);
  const part = fc.constantFrom('a', 'b', 'up', 'out', 'abs', 'loop', 'file', '..', '.', '', '/', 'secret', 'other');
  fc.assert(
    fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
      let node: VirtualNode | undefined;
      try {
        node = walkPath(root, parts.join('/'), true).node;
      } catch {
        return;
      }
      expect(node === undefined || below.has(node)).toBe(true);
    }),
  );
});
