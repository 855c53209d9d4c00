import { DEFAULT_TOOL_CALL_CONFIG } from '@palyra/gateway';
import { DEFAULT_LIMITS } from '@palyra/sandbox';
import { expect, test } from 'vitest';
import { refuseUnheld, workspaceProfile } from './workspace-profile.ts';

const { processRunner, wasmRuntime } = DEFAULT_TOOL_CALL_CONFIG;

test('the box is the one that the configuration names', () => {
  const configured = { ...processRunner, tier: 'B', egress: 'none', limits: { wallMs: 5 } } as const;
  expect(workspaceProfile('/work', processRunner)).toMatchObject({
    tier: 'C',
    egress: { mode: 'strict', hosts: [] },
    limits: DEFAULT_LIMITS,
  });
  expect(workspaceProfile('/work', configured)).toMatchObject({
    tier: 'B',
    egress: { mode: 'none', hosts: [] },
    limits: { ...DEFAULT_LIMITS, wallMs: 5 },
  });
});

test.each([
  { processRunner: { ...processRunner, limits: { wall: 5 } }, wasmRuntime },
  { processRunner: { ...processRunner, allowedHostSuffixes: ['.example'] }, wasmRuntime },
  { processRunner, wasmRuntime: { ...wasmRuntime, hostFunctions: ['shell'] } },
])('what nobody could hold is refused (%#)', (changes) => {
  expect(() => refuseUnheld({ ...DEFAULT_TOOL_CALL_CONFIG, ...changes })).toThrow(
    expect.objectContaining({ code: 'gateway.invalid_config' }),
  );
  expect(() => refuseUnheld(DEFAULT_TOOL_CALL_CONFIG)).not.toThrow();
});
