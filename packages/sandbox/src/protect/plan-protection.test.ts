import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type MountCandidate, planProtection } from './plan-protection.ts';

const candidate = (path: string, hold: MountCandidate['hold'] = 'always', root = '/w'): MountCandidate => ({
  path,
  hold,
  root,
});
const texts = (...candidates: readonly MountCandidate[]) =>
  planProtection(candidates).map(({ path, writable }) => `${writable ? 'pin' : 'hold'} ${path}`);

describe('mounts over protected paths', () => {
  it('are none where there is nothing', () => {
    expect(planProtection([])).toEqual([]);
  });

  it('come with a mount of each directory above', () => {
    expect(texts(candidate('/w/a/b/.envrc'), candidate('/w/a/.vscode'))).toEqual([
      'pin /w/a',
      'hold /w/a/.vscode',
      'pin /w/a/b',
      'hold /w/a/b/.envrc',
    ]);
  });

  it('pin no directory of the project for what nobody runs', () => {
    const instructions = candidate('/w/a/CLAUDE.md', 'where_free');
    expect(texts(instructions, candidate('/w/CLAUDE.md', 'where_free'))).toEqual(['hold /w/CLAUDE.md']);
    expect(texts(instructions, candidate('/w/a/.envrc'))).toEqual([
      'pin /w/a',
      'hold /w/a/.envrc',
      'hold /w/a/CLAUDE.md',
    ]);
    expect(texts(candidate('/w/.github/workflows', 'where_free'))).toEqual([
      'pin /w/.github',
      'hold /w/.github/workflows',
    ]);
  });

  it('leave alone what is written every day', () => {
    expect(texts(candidate('/w/.git/config', 'never'))).toEqual([]);
  });

  const segment = fc.constantFrom('a', 'b', '.c', '.git', 'hooks', 'x');
  const anything = fc.array(
    fc.record({
      root: fc.constantFrom('/w', '/v/u'),
      names: fc.array(segment, { minLength: 1, maxLength: 5 }),
      hold: fc.constantFrom('always' as const, 'where_free' as const, 'never' as const),
    }),
    { maxLength: 40 },
  );

  it('whatever there is: few, each within reach, none without its directories, none inside another held one', () => {
    fc.assert(
      fc.property(anything, (all) => {
        const candidates = all.map(({ root, names, hold }) => ({ path: [root, ...names].join('/'), root, hold }));
        const mounts = planProtection(candidates);
        const at = new Map(mounts.map((mount, index) => [mount.path, { ...mount, index }]));
        expect(at.size).toBe(mounts.length);
        expect(mounts.length).toBeLessThanOrEqual(24);
        expect(planProtection(candidates.toReversed())).toEqual(mounts);
        for (const [index, { path, root, writable }] of mounts.entries()) {
          const isHeld = candidates.some((each) => each.path === path && each.hold !== 'never');
          expect(writable || isHeld).toBe(true);
          for (let above = parent(path); above !== root; above = parent(above)) {
            expect(at.get(above)).toMatchObject({ writable: true });
            expect(at.get(above)?.index).toBeLessThan(index);
          }
        }
      }),
    );
  });
});

function parent(path: string): string {
  return path.slice(0, path.lastIndexOf('/'));
}
