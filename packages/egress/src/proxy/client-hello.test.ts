import { once } from 'node:events';
import { Duplex } from 'node:stream';
import { connect } from 'node:tls';
import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { readClientHello } from './client-hello.ts';

/** What OpenSSL really sends. */
async function helloFor(servername: string | undefined): Promise<Buffer> {
  const wire = new Duplex({
    read() {},
    write(chunk: Buffer, _encoding, done) {
      this.emit('sent', chunk);
      done();
    },
  });
  const sent = once(wire, 'sent') as Promise<[Buffer]>;
  const socket = connect({ socket: wire, ...(servername === undefined ? {} : { servername }) });
  socket.on('error', () => {});
  const [bytes] = await sent;
  socket.destroy();
  return bytes;
}

let hello: Buffer;

beforeAll(async () => {
  hello = await helloFor('allowed.example');
});

test('the name in a real handshake is read, and its absence too', async () => {
  expect(readClientHello(hello)).toEqual({
    kind: 'hello',
    serverName: 'allowed.example',
    isEncrypted: false,
    length: hello.length,
  });
  expect(readClientHello(await helloFor(undefined))).toMatchObject({
    kind: 'hello',
    serverName: undefined,
    isEncrypted: false,
  });
});

test('a handshake that has not come whole is waited for, at every byte', () => {
  for (let length = 1; length < hello.length; length += 1) {
    expect([length, readClientHello(hello.subarray(0, length)).kind]).toEqual([length, 'more']);
  }
});

/** The same handshake in records of these sizes. */
function inRecords(bytes: Buffer, sizes: readonly number[]): Buffer {
  const body = bytes.subarray(5);
  const records: Buffer[] = [];
  for (let at = 0, turn = 0; at < body.length; turn += 1) {
    const piece = body.subarray(at, at + (sizes[turn % sizes.length] ?? 1));
    records.push(Buffer.from([22, 3, 1, piece.length >> 8, piece.length & 255]), piece);
    at += piece.length;
  }
  return Buffer.concat(records);
}

test('it may be cut into records as one likes', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 5 }), (sizes) => {
      expect(readClientHello(inRecords(hello, sizes))).toMatchObject({ kind: 'hello', serverName: 'allowed.example' });
    }),
  );
});

test('bytes behind the handshake are the next record, and do not matter', () => {
  expect(readClientHello(Buffer.concat([hello, Buffer.from([20, 3, 3, 0, 1, 1])]))).toMatchObject({
    kind: 'hello',
    length: hello.length,
  });
});

/** A handshake made by hand, with these extensions. */
function made(...extensions: readonly (readonly [type: number, body: Buffer])[]): Buffer {
  const parts = extensions.map(([type, body]) => Buffer.concat([number16(type), number16(body.length), body]));
  const all = Buffer.concat(parts);
  const body = Buffer.concat([
    Buffer.from([3, 3]),
    Buffer.alloc(32),
    Buffer.from([0, 0, 2, 0x13, 1, 1, 0]),
    number16(all.length),
    all,
  ]);
  const message = Buffer.concat([Buffer.from([1, 0]), number16(body.length), body]);
  return Buffer.concat([Buffer.from([22, 3, 1]), number16(message.length), message]);
}

function number16(value: number): Buffer {
  return Buffer.from([value >> 8, value & 255]);
}

function nameList(...names: readonly string[]): Buffer {
  const entries = names.map((name) =>
    Buffer.concat([Buffer.from([0]), number16(name.length), Buffer.from(name, 'latin1')]),
  );
  const list = Buffer.concat(entries);
  return Buffer.concat([number16(list.length), list]);
}

test('an encrypted hello is seen, beside a name or without one', () => {
  expect(readClientHello(made([0, nameList('a.example')], [0xfe0d, Buffer.alloc(8)]))).toMatchObject({
    kind: 'hello',
    serverName: 'a.example',
    isEncrypted: true,
  });
  expect(readClientHello(made([0xfe0d, Buffer.alloc(8)]))).toMatchObject({ serverName: undefined, isEncrypted: true });
});

test.each([
  ['two names in the list', made([0, nameList('a.example', 'b.example')])],
  ['the extension twice', made([0, nameList('a.example')], [0, nameList('b.example')])],
  ['an empty name', made([0, nameList('')])],
  ['a name with a NUL', made([0, nameList('a.example\0.evil.example')])],
  ['a list longer than it says', made([0, Buffer.concat([nameList('a.example'), Buffer.from([0])])])],
  ['another message first', Buffer.from([22, 3, 1, 0, 4, 2, 0, 0, 0])],
  ['an empty record', Buffer.from([22, 3, 1, 0, 0, 22, 3, 1, 0, 1, 1])],
  ['a record that is too large', Buffer.from([22, 3, 1, 0xff, 0xff, 1])],
  ['a message that is too large', Buffer.from([22, 3, 1, 0, 4, 1, 0xff, 0xff, 0xff])],
])('%s is malformed', (_what, bytes) => {
  expect(readClientHello(bytes)).toEqual({ kind: 'malformed' });
});

test('a record of another kind in between is malformed', () => {
  const broken = Buffer.concat([inRecords(hello, [50]).subarray(0, 55), Buffer.from([23, 3, 1, 0, 5])]);
  expect(readClientHello(broken)).toEqual({ kind: 'malformed' });
});

test('whatever comes, it is read or not, and nothing is thrown', () => {
  const damaged = fc.tuple(fc.nat(), fc.uint8Array({ minLength: 1, maxLength: 8 })).map(([at, bytes]) => {
    const copy = Buffer.from(hello);
    copy.set(bytes.slice(0, copy.length - (at % copy.length)), at % copy.length);
    return copy;
  });
  const garbage = fc.uint8Array({ maxLength: 600 }).map((bytes) => Buffer.concat([Buffer.from([22, 3, 1]), bytes]));
  fc.assert(
    fc.property(fc.oneof(damaged, garbage), (bytes) => {
      expect(['more', 'hello', 'malformed']).toContain(readClientHello(bytes).kind);
    }),
    { numRuns: 2_000 },
  );
});
