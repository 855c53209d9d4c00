import { Code } from '@connectrpc/connect';
import { APPROVAL_ERRORS } from '@palyra/approvals';
import { GATEWAY_ERRORS } from '@palyra/gateway';
import { IDENTITY_ERRORS, PAIRING_ERRORS } from '@palyra/identity';
import { JOURNAL_ERRORS } from '@palyra/journal';
import { POLICY_ERRORS } from '@palyra/policy';
import { PRIMITIVES_ERRORS } from '@palyra/primitives';
import { SANDBOX_ERRORS } from '@palyra/sandbox';
import { expect, test } from 'vitest';
import { DAEMON_ERRORS } from '../daemon-error.ts';
import { connectCodeOf } from './connect-code.ts';

const ALL = [
  APPROVAL_ERRORS,
  GATEWAY_ERRORS,
  IDENTITY_ERRORS,
  PAIRING_ERRORS,
  JOURNAL_ERRORS,
  POLICY_ERRORS,
  PRIMITIVES_ERRORS,
  SANDBOX_ERRORS,
  DAEMON_ERRORS,
].flatMap((table) => Object.keys(table));

/** Faults of ours, told as such. */
const FAULTS = ['daemon.fault', 'gateway.fault', 'identity.not_written', 'journal.body_unreadable'];
const INTERNAL = [...FAULTS, 'policy.evaluation_failed', 'primitives.clock_out_of_range'];
/** What only the start of palyrad can throw. */
const AT_START = ['daemon.public_bind', 'daemon.cannot_listen', 'daemon.invalid_arguments'];

test('every code is told as something, and only faults as faults', () => {
  const internal = ALL.filter((code) => connectCodeOf(code) === Code.Internal);
  expect(internal.toSorted()).toEqual([...INTERNAL, ...AT_START].toSorted());
  expect(connectCodeOf('nobody.knows')).toBe(Code.Internal);
});

test('what was not found, and what may not be, is told apart', () => {
  expect(connectCodeOf('gateway.run_not_found')).toBe(Code.NotFound);
  expect(connectCodeOf('daemon.not_permitted')).toBe(Code.PermissionDenied);
  expect(connectCodeOf('identity.token_refused')).toBe(Code.PermissionDenied);
});
