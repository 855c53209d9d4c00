import { expect, test } from 'vitest';
import { type Backend, chooseBackend, refuseToRun } from './choose-backend.ts';

test.each<[string, 'B' | 'C', Backend]>([
  ['linux', 'C', 'bubblewrap'],
  ['linux', 'B', 'limits'],
  ['darwin', 'C', 'seatbelt'],
  ['win32', 'B', 'jobobject'],
])('%s, Tier %s: %s', (platform, tier, backend) => {
  expect(chooseBackend(platform, { tier })).toEqual({ kind: 'chosen', backend });
});

test.each<[string, 'B' | 'C', RegExp]>([
  ['darwin', 'B', /^Use Tier C\.$/],
  ['win32', 'C', /WSL2/],
  ['freebsd', 'C', /Linux/],
  ['freebsd', 'B', /Linux/],
])('%s, Tier %s: refused, with a fix', (platform, tier, fix) => {
  expect(chooseBackend(platform, { tier })).toEqual({
    kind: 'refused',
    code: 'sandbox.unsupported',
    message: expect.stringMatching(/^There is no .*\.$/),
    fix: expect.stringMatching(fix),
  });
});

test('only Linux has a launcher; elsewhere the refusal names the executor and the way out', () => {
  expect([refuseToRun('bubblewrap'), refuseToRun('limits')]).toEqual([undefined, undefined]);
  expect(refuseToRun('seatbelt')).toEqual({
    kind: 'refused',
    code: 'sandbox.launcher_missing',
    message:
      'Commands are planned on macOS (sandbox_tier_c_macos_sandbox_exec), and not run: there is no launcher for it.',
    fix: 'Run palyrad on Linux: in a virtual machine, or on another host.',
  });
  expect(refuseToRun('jobobject')).toMatchObject({
    code: 'sandbox.launcher_missing',
    fix: expect.stringMatching(/WSL2/),
  });
});
