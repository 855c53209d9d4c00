import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ringSeldom } from './ring-seldom.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => void vi.useRealTimers());

function hung() {
  const heard: string[] = [];
  const bell = ringSeldom({ ring: () => heard.push('ring'), close: () => heard.push('close') });
  return { bell, heard };
}

test('the first is rung at once, and all that follow soon after it once more', () => {
  const { bell, heard } = hung();
  for (let commit = 0; commit < 5; commit += 1) bell.ring();
  expect(heard).toEqual(['ring']);
  vi.runAllTimers();
  expect(heard).toEqual(['ring', 'ring']);
});

test('a thread that comes to no timer rings when the time is over', () => {
  const { bell, heard } = hung();
  bell.ring();
  bell.ring();
  const later = performance.now() + 60_000;
  vi.spyOn(performance, 'now').mockReturnValue(later);
  bell.ring();
  vi.runAllTimers();
  expect(heard).toEqual(['ring', 'ring']);
});

test('what waits is rung for before it is closed', () => {
  const { bell, heard } = hung();
  bell.ring();
  bell.ring();
  bell.close();
  vi.runAllTimers();
  expect(heard).toEqual(['ring', 'ring', 'close']);
});
