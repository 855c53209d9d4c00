import { expect, test } from 'vitest';
import { trust } from './trust.ts';

const COMMAND = 'palyra-hook codex || exit 2';
const hook = (more: object) => ({
  eventName: 'preToolUse',
  command: COMMAND,
  enabled: true,
  trustStatus: 'trusted',
  ...more,
});
const listed = (...hooks: readonly object[]) =>
  trust.read(JSON.stringify({ id: 2, result: { data: [{ cwd: '/work/app', hooks, warnings: [] }] } }), COMMAND);

test('a hook that is trusted is run', () => {
  const another = hook({ command: 'mine', trustStatus: 'untrusted' });
  const after = hook({ eventName: 'postToolUse', trustStatus: 'untrusted' });
  expect(listed(another, hook({}), after)).toEqual({ kind: 'runs' });
  expect(listed(hook({ trustStatus: 'managed' }))).toEqual({ kind: 'runs' });
});

test.each([
  [{ trustStatus: 'untrusted' }, 'the hook is untrusted'],
  [{ trustStatus: 'modified' }, 'the hook is modified'],
  [{ trustStatus: 7 }, 'the hook is of a state that is not known'],
  [{ enabled: false }, 'the hook is switched off'],
  [{ command: 'palyra-hook codex' }, 'it has not found the hook'],
])('a hook with %j is not', (more, why) => {
  expect(listed(hook(more))).toEqual({ kind: 'skips', why });
});

test('what cannot be read as a list of hooks is no word for it', () => {
  const why = 'it does not say which hooks it runs';
  expect(trust.read('{"id":2,"error":{"code":-32601}}', COMMAND)).toEqual({ kind: 'skips', why });
  for (const result of [null, {}, { data: {} }, { data: [7, { hooks: 7 }, { hooks: [7] }] }]) {
    expect(trust.read(JSON.stringify({ id: 2, result }), COMMAND)).toMatchObject({ kind: 'skips' });
  }
});

test('other lines are about something else', () => {
  for (const line of ['', 'no JSON', '{"id":1,"result":{}}', '{"method":"remoteControl/status/changed"}']) {
    expect(trust.read(line, COMMAND)).toBeUndefined();
  }
});
