import { DEFAULT_TOOL_CALL_CONFIG } from '@palyra/gateway';
import { DEFAULT_LIMITS } from '@palyra/sandbox';
import { expect, test } from 'vitest';
import { commandProfile, refuseUnheld, workspaceProfile } from './workspace-profile.ts';

const { processRunner, wasmRuntime } = DEFAULT_TOOL_CALL_CONFIG;
const CONFIGURED = {
  ...processRunner,
  tier: 'B',
  egress: 'preflight',
  allowedHosts: ['a.example:443'],
  allowedHostSuffixes: ['.b.example:8443'],
  limits: { wallMs: 5 },
} as const;

test('a command that says nothing has what the configuration names', () => {
  expect(commandProfile('/work', processRunner)).toEqual(workspaceProfile('/work', processRunner));
  expect(commandProfile('/work', CONFIGURED)).toMatchObject({
    tier: 'B',
    egress: { mode: 'preflight', hosts: ['a.example:443', '*.b.example:8443'] },
    limits: { ...DEFAULT_LIMITS, wallMs: 5 },
  });
});

test('the box of everything else is a wall with nothing outside, whatever commands have', () => {
  const box = { tier: 'C', egress: { mode: 'strict', hosts: [] } } as const;
  expect(workspaceProfile('/work', processRunner)).toMatchObject({ ...box, limits: DEFAULT_LIMITS });
  expect(workspaceProfile('/work', CONFIGURED)).toMatchObject({ ...box, limits: { ...DEFAULT_LIMITS, wallMs: 5 } });
});

test.each([
  { processRunner: { ...processRunner, limits: { wall: 5 } }, wasmRuntime },
  { processRunner: { ...processRunner, tier: 'B' as const }, wasmRuntime },
  { processRunner: { ...processRunner, egress: 'none' as const, allowedHosts: ['a.example:443'] }, wasmRuntime },
  { processRunner: { ...processRunner, egress: 'none' as const, allowedHostSuffixes: ['.example:443'] }, wasmRuntime },
  { processRunner, wasmRuntime: { ...wasmRuntime, hostFunctions: ['shell'] } },
])('what nobody could hold is refused (%#)', (changes) => {
  expect(() => refuseUnheld({ ...DEFAULT_TOOL_CALL_CONFIG, ...changes })).toThrow(
    expect.objectContaining({ code: 'gateway.invalid_config' }),
  );
  expect(() => refuseUnheld(DEFAULT_TOOL_CALL_CONFIG)).not.toThrow();
  expect(() => refuseUnheld({ ...DEFAULT_TOOL_CALL_CONFIG, processRunner: CONFIGURED })).not.toThrow();
});
