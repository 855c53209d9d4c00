import { expect, test } from 'vitest';
import { EVERYTHING_LISTED, testRequest } from './test-request.ts';
import { readWrittenRequest } from './written-request.ts';

test('an empty object is the ordinary request, with everything on its list', () => {
  expect(readWrittenRequest({})).toEqual({ request: testRequest({}, {}), config: EVERYTHING_LISTED });
});

test('what is written is what is asked', () => {
  const { request, config } = readWrittenRequest({
    principal: 'user:ada',
    now: '2026-03-01T10:00:00+01:00',
    enforced: { hosts: ['a.example:443'] },
    config: { allowed_tools: ['palyra.*'] },
  });
  expect([request.principal, request.context.now]).toEqual([{ type: 'User', id: 'ada' }, Date.UTC(2026, 2, 1, 9)]);
  expect(config.allowedTools).toEqual(['palyra.*']);
});

test.each([
  [[], 'A request is a JSON object.'],
  [null, 'A request is a JSON object.'],
  ['x', 'A request is a JSON object.'],
  [{ enforced: { host: ['a'] } }, 'There is no key enforced.host (did you mean hosts?).'],
  [{ principle: 'agent:x' }, 'There is no key principle (did you mean principal?).'],
  [{ principal: 'x' }, 'principal: must be "user:NAME" or "agent:NAME".'],
  [{ now: 'today' }, 'now: '],
  [{ now: '2026-03-01T10:00:00' }, 'now: '],
  [{ action: 'vault.use' }, 'needs a resource'],
  [JSON.parse('{"__proto__": {"principal": "user:root"}}'), 'There is no key __proto__'],
])('%j is refused: %s', (written, message) => {
  expect(() => readWrittenRequest(written)).toThrow(
    expect.objectContaining({ code: 'policy.invalid_request', message: expect.stringContaining(message) }),
  );
});
