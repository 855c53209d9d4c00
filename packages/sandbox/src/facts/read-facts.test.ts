import { expect, test } from 'vitest';
import { isIsolated } from './read-facts.ts';

test.each([
  [['lo'], ['lo'], true],
  [['lo', 'tunl0', 'sit0', 'ip6_vti0'], ['lo', 'lo'], true],
  [['lo', 'tunl0'], ['lo', 'tunl0'], false],
  [['lo', 'tunl0', 'tun0'], ['lo'], false],
  [['lo', 'eth0'], [], false],
  [['sit0'], [], false],
  [[], [], false],
])('of the interfaces %j with routes through %j it is isolated: %j', (interfaces, routes, is) => {
  expect(isIsolated({ interfaces, routes })).toBe(is);
});
