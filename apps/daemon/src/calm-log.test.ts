import { createFakeClock } from '@palyra/testkit';
import { expect, test } from 'vitest';
import { createCalmLog } from './calm-log.ts';

test('the same thing is said once a second, with how often it was not said', async () => {
  const clock = createFakeClock();
  const lines: unknown[] = [];
  const calm = createCalmLog({ warn: (fields) => void lines.push(fields) }, clock);
  for (let each = 0; each < 10_000; each += 1) calm.warn('eve', { who: 'eve' }, 'refused');
  calm.warn('ada', { who: 'ada' }, 'refused');
  await clock.advance(1_000);
  calm.warn('eve', { who: 'eve' }, 'refused');
  expect(lines).toEqual([{ who: 'eve' }, { who: 'ada' }, { who: 'eve', unsaid: 9_999 }]);
});
