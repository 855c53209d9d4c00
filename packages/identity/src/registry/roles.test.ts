import { expect, test } from 'vitest';
import { DEVICE_KINDS } from '../device-kind.ts';
import { checkRoles, effectiveRoles, groupsOf, ROLES } from './roles.ts';

test('roles have one order, and each is there once', () => {
  expect(checkRoles('operator', ['operator', 'admin', 'admin'])).toEqual(['admin', 'operator']);
  expect(groupsOf(checkRoles('agent', ['agent']))).toEqual(['agent']);
});

test('what a row says beyond the kind counts for nothing', () => {
  expect(DEVICE_KINDS.map((kind) => [kind, effectiveRoles(kind, ROLES)])).toEqual([
    ['operator', ['admin', 'approver', 'auditor', 'operator']],
    ['agent', ['agent']],
    ['node', []],
    ['service', ['agent', 'auditor']],
  ]);
});

test.each([
  ['agent', 'approver'],
  ['agent', 'operator'],
  ['service', 'admin'],
  ['node', 'agent'],
  ['operator', 'root'],
] as const)('a device of kind %s is no %s', (kind, role) => {
  expect(() => checkRoles(kind, [role])).toThrow(expect.objectContaining({ code: 'identity.invalid_roles' }));
});
