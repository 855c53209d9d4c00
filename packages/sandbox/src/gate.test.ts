import { expect, test } from 'vitest';
import { planGate } from './gate.ts';

const IDENTITY = { uid: 879_999, gid: 879_999 };
const PROGRAM = {
  argv: ['/root/app/bin/node', '--flag', '/root/app/lib/proxy.js'],
  environment: { A: 'b' },
  readFrom: ['/root/app'],
};

/** A home that nobody else may enter. */
const files = {
  stat: (path: string) => ({ mode: path === '/root' ? 0o40700 : 0o40755, uid: 0, gid: 0 }) as never,
};

test('what the gate’s user cannot reach is handed over, read-only, and found where it is then', () => {
  expect(planGate(PROGRAM, { identity: IDENTITY, files, handsOver: true })).toEqual({
    tool: {
      path: '/run/palyra/gate-0/bin/node',
      argv: ['/run/palyra/gate-0/bin/node', '--flag', '/run/palyra/gate-0/lib/proxy.js'],
      environment: ['A=b', 'NODE_CHANNEL_FD=7'],
      cwd: '/',
      terminal: undefined,
    },
    identity: IDENTITY,
    staged: [{ name: 'gate-0', source: '/root/app', readOnly: true, idmap: false }],
  });
});

test('who has one user for everything hands nothing over', () => {
  const plan = planGate(PROGRAM, { identity: undefined, files, handsOver: true });
  expect([plan.staged, plan.tool.argv]).toEqual([[], PROGRAM.argv]);
});

test('a launcher that works for one user hands nothing over: the program must be within reach', () => {
  expect(() => planGate(PROGRAM, { identity: IDENTITY, files, handsOver: false })).toThrow(
    expect.objectContaining({ code: 'sandbox.unsafe_identity' }),
  );
});
