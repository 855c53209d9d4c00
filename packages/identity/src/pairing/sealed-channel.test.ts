import { duplexPair } from 'node:stream';
import { createFakeClock } from '@palyra/testkit';
import { expect, test } from 'vitest';
import { createFrames } from './frames.ts';
import { createSealedChannel } from './sealed-channel.ts';

const KEY = { key: Buffer.alloc(64, 1), session: Buffer.alloc(32, 2) };
const BAD = expect.objectContaining({ code: 'pairing.protocol' });

function wire() {
  const clock = createFakeClock();
  const [left, right] = duplexPair();
  return { joiner: createFrames(left, clock), host: createFrames(right, clock) };
}

test('what one side seals the other opens, in order', async () => {
  const { joiner, host } = wire();
  const [atJoiner, atHost] = [
    createSealedChannel(joiner, { role: 'joiner', ...KEY }),
    createSealedChannel(host, { role: 'host', ...KEY }),
  ];
  atJoiner.send({ kind: 'request', csr: Buffer.from('csr') });
  atJoiner.send({ kind: 'done' });
  expect(await atHost.receive('request', 1)).toEqual({ kind: 'request', csr: Buffer.from('csr') });
  expect(await atHost.receive('done', 1)).toEqual({ kind: 'done' });
  atHost.refuse({ code: 'pairing.refused' });
  await expect(atJoiner.receive('issued', 1)).rejects.toMatchObject({ code: 'pairing.refused' });
});

test("a side's own message sent back to it does not open", async () => {
  const { joiner, host } = wire();
  const atJoiner = createSealedChannel(joiner, { role: 'joiner', ...KEY });
  atJoiner.send({ kind: 'asking' });
  host.write(await host.read({ maxBytes: 1_000, withinMs: 1 }));
  await expect(atJoiner.receive('asking', 1)).rejects.toEqual(BAD);
});

test('a message does not open twice, out of turn, cut short or under another session', async () => {
  const record = async (times: number) => {
    const { joiner, host } = wire();
    const channel = createSealedChannel(joiner, { role: 'joiner', ...KEY });
    for (let index = 0; index < times; index += 1) channel.send({ kind: 'done' });
    const frames: Uint8Array[] = [];
    for (let index = 0; index < times; index += 1) frames.push(await host.read({ maxBytes: 1_000, withinMs: 1 }));
    return frames;
  };
  const [first = new Uint8Array(), second = new Uint8Array()] = await record(2);
  const opens = async (frames: readonly Uint8Array[], session = KEY.session): Promise<string[]> => {
    const { joiner, host } = wire();
    const channel = createSealedChannel(host, { role: 'host', key: KEY.key, session });
    const told: string[] = [];
    for (const frame of frames) {
      joiner.write(frame);
      told.push(
        await channel.receive('done', 1).then(
          () => 'opened',
          (thrown) => Object(thrown).code,
        ),
      );
    }
    return told;
  };
  expect(await opens([first, second])).toEqual(['opened', 'opened']);
  expect(await opens([first, first])).toEqual(['opened', 'pairing.protocol']);
  expect(await opens([second])).toEqual(['pairing.protocol']);
  expect(await opens([first.subarray(1)])).toEqual(['pairing.protocol']);
  expect(await opens([first.subarray(0, 16)])).toEqual(['pairing.protocol']);
  expect(await opens([first], Buffer.alloc(32, 3))).toEqual(['pairing.protocol']);
});

test('a message of the same form and another kind is not taken for the one that is due', async () => {
  const { joiner, host } = wire();
  createSealedChannel(host, { role: 'host', ...KEY }).send({ kind: 'done' });
  const atJoiner = createSealedChannel(joiner, { role: 'joiner', ...KEY });
  await expect(atJoiner.receive('asking', 1)).rejects.toEqual(BAD);
});
