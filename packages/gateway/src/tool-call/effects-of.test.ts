import { expect, test } from 'vitest';
import type { ToolPlan } from '../catalog/tool.ts';
import { REACHES_NOTHING } from '../tools/built-in-plan.ts';
import { effectsOf } from './effects-of.ts';

function effects(
  enforced: Partial<ToolPlan['enforced']>,
  shown: ToolPlan['shown'] = { kind: 'command', argv: ['git'] },
) {
  const all = { ...REACHES_NOTHING, tier: 'C', egress: 'strict', ...enforced } as ToolPlan['enforced'];
  return effectsOf({ enforced: all, shown, cwd: '/work' } as ToolPlan);
}

test('what stays in the box has none', () => {
  expect(effects({})).toEqual([]);
});

test('each way out is named by itself', () => {
  expect(effects({ hosts: ['a.example:443', '[::1]:80'], secrets: ['token'] })).toEqual([
    { kind: 'host', host: 'a.example', port: 443, secret: 'token' },
    { kind: 'host', host: '[::1]', port: 80, secret: 'token' },
  ]);
  expect(effects({ outsidePaths: ['/srv/a', '/srv/b'], writeRoots: ['/srv/b'] })).toEqual([
    { kind: 'path', path: '/srv/a', mode: 'read' },
    { kind: 'path', path: '/srv/b', mode: 'write' },
  ]);
  expect(effects({ protectedPaths: ['/work/.git/config'] })).toEqual([
    { kind: 'once', what: 'changing the protected file /work/.git/config' },
  ]);
});

test('limits are no box, an open network is everywhere, and a secret without a host is none of a host', () => {
  expect(effects({ tier: 'B' })).toEqual([{ kind: 'argv', argv: ['git'], cwd: '/work' }]);
  expect(effects({ egress: 'none' })).toEqual([{ kind: 'once', what: 'connections to anywhere' }]);
  expect(effects({ secrets: ['token'] })).toEqual([{ kind: 'once', what: 'using the secrets token without a host' }]);
});
