import { setImmediate as afterOthers } from 'node:timers/promises';
import { Secret } from '@palyra/primitives';
import { createFakeClock } from '@palyra/testkit';
import { expect, test } from 'vitest';
import { createRedactor, type Redactor } from '../redact/create-redactor.ts';
import { toldOutput } from './told-output.ts';

const TOKEN = 'ghp_Ab3dEf6hIj9lMn2pQr5tUv8xYz1aBc4eFg7h';

function telling(redact: Redactor | undefined, isTerminal: boolean) {
  const clock = createFakeClock();
  const told: string[] = [];
  const onOutput = (_: string, bytes: Uint8Array) => void told.push(Buffer.from(bytes).toString());
  const output = toldOutput({ onOutput }, { redact, clock, isTerminal });
  const say = (text: string) => output.take('stdout', Buffer.from(text));
  const beQuiet = async () => {
    await clock.advance(100);
    await afterOthers();
  };
  return { told, output, say, beQuiet };
}

test('a terminal shows what was typed when nothing more comes, although it may begin a credential', async () => {
  const { told, output, say, beQuiet } = telling(createRedactor(), true);
  await say('$ g');
  expect(told).toEqual(['$ ']);
  await beQuiet();
  expect(told).toEqual(['$ ', 'g']);
  await say('it\r\n');
  await output.end('whole');
  expect(told.join('')).toBe('$ git\r\n');
});

test('pipes do not: whoever reads them waits for the end', async () => {
  const { told, output, say, beQuiet } = telling(createRedactor(), false);
  await say('g');
  await beQuiet();
  expect(told).toEqual([]);
  await output.end('whole');
  expect(told).toEqual(['g']);
});

test.each(['AKIAIOSFODNN7EXAMPL3', 'password=hunter2hunter2X9'])(
  'nor is one that may end there: %s',
  async (credential) => {
    const { told, output, say, beQuiet } = telling(createRedactor(), true);
    await say(credential);
    await beQuiet();
    await say('\r\n');
    await output.end('whole');
    expect(told.join('')).toMatch(/^(?:password=)?\[detected:[a-z-]+\]\r\n$/);
  },
);

test('a whole credential is not let go, however quiet it is, and nor is what belongs to it', async () => {
  const { told, output, say, beQuiet } = telling(createRedactor(), true);
  await say(TOKEN.slice(0, 2));
  await beQuiet();
  await say(TOKEN.slice(2));
  await beQuiet();
  await say('\r\n');
  await output.end('whole');
  expect(told.join('')).toMatch(/^gh\[detected:[a-z_,-]+\]\r\n$/);
});

test('a secret that is held is never let go in parts', async () => {
  const redactor = createRedactor();
  redactor.hold('DEPLOY', new Secret('correct horse battery'));
  const { told, output, say, beQuiet } = telling(redactor, true);
  for (const letter of 'correct horse battery') {
    await say(letter);
    await beQuiet();
  }
  expect(told.join('')).toBe('');
  await output.end('whole');
  expect(told.join('')).toBe('[secret:DEPLOY]');
});

test('without a redactor it is as it was', async () => {
  const { told, output, say } = telling(undefined, true);
  await say(TOKEN);
  await output.end('whole');
  expect(told).toEqual([TOKEN]);
});
