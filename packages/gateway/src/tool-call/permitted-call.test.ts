import { expect, test } from 'vitest';
import type { DecidedCall } from './decided-call.ts';
import { createExecute } from './execute.ts';
import { consume, type PermittedCall, permit } from './permitted-call.ts';

const decided = { id: 'call' } as unknown as DecidedCall;
const refused = expect.objectContaining({ code: 'gateway.not_permitted' });

test('a permitted call is good for one execution', () => {
  const permitted = permit(decided);
  consume(permitted);
  expect(() => consume(permitted)).toThrow(refused);
});

test('what nobody permitted is refused, whatever its type says', () => {
  expect(() => consume(decided as PermittedCall)).toThrow(refused);
  const permitted = permit(decided);
  expect(() => consume({ ...permitted })).toThrow(refused);
  expect(() => consume(structuredClone({ ...permitted }))).toThrow(refused);
});

test('a call that was only decided does not compile where it would run', async () => {
  const execute = createExecute({ clock: { now: () => 0, sleep: () => new Promise(() => undefined) } as never });
  // @ts-expect-error -- this line is the test: it keeps an undecided call from compiling
  await expect(execute(decided)).rejects.toMatchObject({ code: 'gateway.not_permitted' });
});

test('nothing of it can be changed between the permission and the execution', () => {
  const permitted = permit(decided);
  expect(() => Object.assign(permitted, { plan: 'another' })).toThrow(TypeError);
});
