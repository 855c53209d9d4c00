import { expect, test } from 'vitest';
import { createPrincipalLoad } from './principal-load.ts';

test('one principal has as many as it may, and others are not held back by it', () => {
  const load = createPrincipalLoad(2);
  const free = load.take('run', 'agent:one');
  load.take('run', 'agent:one');
  expect(() => load.take('run', 'agent:one')).toThrow(expect.objectContaining({ code: 'gateway.too_many_runs' }));
  expect(() => load.take('run', 'agent:two')).not.toThrow();
  expect(() => load.take('call', 'agent:one')).not.toThrow();
  free();
  free();
  expect(() => load.take('run', 'agent:one')).not.toThrow();
  expect(() => load.take('run', 'agent:one')).toThrow(expect.objectContaining({ code: 'gateway.too_many_runs' }));
});
