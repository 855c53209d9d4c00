import { expect, test } from 'vitest';
import { listenerFindings } from './compare-listener.ts';

const NETWORK = 'net:[4026532001]';
const OURS = `127.0.0.1:3128 ${NETWORK}`;

test('what was handed over is the listener of this sandbox, or nothing was, as planned', () => {
  expect(listenerFindings(OURS, { network: NETWORK, isExpected: true })).toEqual([]);
  expect(listenerFindings(undefined, { network: NETWORK, isExpected: false })).toEqual([]);
});

test.each([
  ['nothing', undefined, 'none'],
  ['no listener at all', '', 'something that is no listener'],
  ['another port', `127.0.0.1:3129 ${NETWORK}`, `127.0.0.1:3129 ${NETWORK}`],
  ['every address', `0.0.0.0:3128 ${NETWORK}`, `0.0.0.0:3128 ${NETWORK}`],
  ['one of another network', '127.0.0.1:3128 net:[4026531840]', '127.0.0.1:3128 net:[4026531840]'],
  ['one whose network is not known', '127.0.0.1:3128 net:[0]', '127.0.0.1:3128 net:[0]'],
])('%s is not the planned one (T-22)', (_, listener, found) => {
  expect(listenerFindings(listener, { network: NETWORK, isExpected: true })).toEqual([
    { what: 'What was handed out of the sandbox is not the planned listener.', expected: OURS, found },
  ]);
});

test('nor is any, where none was planned', () => {
  expect(listenerFindings(OURS, { network: NETWORK, isExpected: false })).toMatchObject([
    { expected: 'none', found: OURS },
  ]);
});
