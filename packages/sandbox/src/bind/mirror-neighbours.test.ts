import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mirrorNeighbours } from './mirror-neighbours.ts';

const mirror = (tree: Readonly<Record<string, readonly string[]>>, { links = 10, bytes = 10_000 } = {}) =>
  mirrorNeighbours({
    root: '/work',
    path: '/work/tools/x.js',
    copyRoot: '/copy/0',
    most: { links, bytes },
    list: (directory) => tree[directory] ?? [],
  });

describe('mirrorNeighbours', () => {
  it('links to what lies beside it and above it, up to where the mount begins', () => {
    expect(mirror({ '/work/tools': ['x.js', 'lib'], '/work': ['tools', 'node_modules'], '/': ['etc'] })).toEqual([
      { at: '/copy/0/tools/lib', target: '/work/tools/lib' },
      { at: '/copy/0/node_modules', target: '/work/node_modules' },
    ]);
  });

  it('leaves out a directory that has too many names, and not half of it', () => {
    const many = Array.from({ length: 20 }, (_, index) => `n${index}`);
    expect(mirror({ '/work/tools': many, '/work': ['tools', 'one'] })).toEqual([
      { at: '/copy/0/one', target: '/work/one' },
    ]);
  });

  it('leaves out names that are too long together: they are arguments, and the approved script would not start', () => {
    const long = Array.from({ length: 9 }, (_, index) => `${index}${'x'.repeat(200)}`);
    expect(mirror({ '/work/tools': long, '/work': ['tools', 'one'] }, { bytes: 2000 })).toEqual([
      { at: '/copy/0/one', target: '/work/one' },
    ]);
  });

  it('puts nothing outside the copy, whatever the names are', () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { maxLength: 8 }), (names) => {
        const links = mirror({ '/work/tools': names });
        expect(links.every(({ at }) => /^\/copy\/0\/tools\/[^/\0]+$/.test(at))).toBe(true);
        expect(links.some(({ at }) => at === '/copy/0/tools/x.js')).toBe(false);
      }),
    );
  });

  it('has no neighbours where the mount is the file itself', () => {
    const list = () => ['a'];
    expect(
      mirrorNeighbours({ root: '/opt/x', path: '/opt/x', copyRoot: '/copy/0', most: { links: 5, bytes: 100 }, list }),
    ).toEqual([]);
  });
});
