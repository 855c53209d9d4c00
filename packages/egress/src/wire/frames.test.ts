import fc from 'fast-check';
import { expect, test } from 'vitest';
import { bytesFrame, createFrameReader, jsonFrame } from './frames.ts';
import { readFromProxy } from './messages.ts';

test('frames are the same however the bytes are cut', () => {
  const bytes = Buffer.concat([
    jsonFrame({ say: 'closed', label: 'ä' }),
    bytesFrame(7, Buffer.from('body')),
    jsonFrame(null),
  ]);
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1 }), (sizes) => {
      const read = createFrameReader();
      const frames: unknown[] = [];
      for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
        const size = sizes[turn % sizes.length] ?? 1;
        frames.push(...read(bytes.subarray(at, at + size)));
        at += size;
      }
      expect(frames).toEqual([
        { kind: 'json', value: { say: 'closed', label: 'ä' } },
        { kind: 'bytes', id: 7, bytes: new Uint8Array(Buffer.from('body')) },
        { kind: 'json', value: null },
      ]);
    }),
  );
});

test.each([
  ['a frame that is too long', Buffer.from([0xff, 0xff, 0xff, 0xff, 1])],
  ['a frame of no kind', Buffer.from([0, 0, 0, 0, 9])],
  ['bytes of nothing', Buffer.from([0, 0, 0, 1, 2, 0])],
  ['what is no JSON', Buffer.from([0, 0, 0, 1, 1, 0x7b])],
])('%s is refused', (_what, bytes) => {
  expect(() => createFrameReader()(bytes)).toThrow(/A frame of|JSON/);
});

const ATTEMPT = {
  number: 1,
  at: 5,
  protocol: 'http',
  host: 'a',
  port: 80,
  outcome: 'allowed',
  bytesIn: 0,
  bytesOut: 0,
};

test('the proxy is believed when it says what it can mean', () => {
  const messages = [
    { say: 'opened', label: 'x' },
    { say: 'attempt', label: 'x', attempt: ATTEMPT },
    { say: 'ask', id: 1, label: 'x', target: { host: 'a.example', port: 80 } },
    {
      say: 'fetched',
      id: 1,
      end: { kind: 'response', status: 200, headers: [['a', 'b']], url: 'http://a/', hops: [] },
    },
  ];
  expect(messages.map(readFromProxy)).toEqual(messages);
});

test.each([
  null,
  [],
  { say: 'other' },
  { say: 'opened' },
  { say: 'ask', id: -1, label: 'x', target: { host: 'a', port: 80 } },
  { say: 'ask', id: 1, label: 'x', target: { host: 'a'.repeat(300), port: 80 } },
  { say: 'ask', id: 1, label: 'x', target: { host: 'a', port: 80, scheme: 'ftp' } },
  { say: 'attempt', label: 'x', attempt: { ...ATTEMPT, bytesIn: -1 } },
  { say: 'attempt', label: 'x', attempt: { ...ATTEMPT, bytesIn: '5' } },
  { say: 'attempt', label: 'x', attempt: { ...ATTEMPT, outcome: 'maybe' } },
  { say: 'attempt', label: 'x', attempt: { ...ATTEMPT, denial: { code: 5 } } },
  { say: 'fetched', id: 1, end: { kind: 'response', status: 200, headers: [['a']], url: '', hops: [] } },
])('%j is not believed', (message) => {
  expect(readFromProxy(message)).toBeUndefined();
});
