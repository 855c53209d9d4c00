import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createSystemResolver, type ResolveName } from './resolve-name.ts';

const A = 1;
const AAAA = 28;
const REFUSED = 5;
const NO_SUCH_NAME = 3;

/** By name and type; a number is the code of a refusal, nothing is silence. */
const ZONE: Readonly<Record<string, readonly Buffer[] | number>> = {
  [`both.example ${A}`]: [Buffer.from([192, 0, 2, 1]), Buffer.from([192, 0, 2, 2])],
  [`both.example ${AAAA}`]: [Buffer.from('20010db8000000000000000000000001', 'hex')],
  [`four.example ${A}`]: [Buffer.from([192, 0, 2, 1])],
  [`four.example ${AAAA}`]: [],
  [`half.example ${A}`]: [Buffer.from([192, 0, 2, 1])],
  [`half.example ${AAAA}`]: REFUSED,
  [`none.example ${A}`]: NO_SUCH_NAME,
  [`none.example ${AAAA}`]: NO_SUCH_NAME,
  [`closed.example ${A}`]: REFUSED,
  [`closed.example ${AAAA}`]: REFUSED,
};

let server: Socket;
let resolve: ResolveName;
let asked: string[];
const never = new AbortController().signal;

beforeAll(async () => {
  server = createSocket('udp4').bind(0, '127.0.0.1');
  server.on('message', (query, { port, address }) => {
    const { name, type, question } = readQuestion(query);
    asked.push(name);
    const answer = ZONE[`${name} ${type}`];
    if (answer === undefined) return;
    const records = typeof answer === 'number' ? [] : answer;
    const head = Buffer.from(query.subarray(0, 12));
    head.writeUInt16BE(0x8180 | (typeof answer === 'number' ? answer : 0), 2);
    head.writeUInt16BE(records.length, 6);
    head.writeUInt32BE(0, 8);
    server.send(Buffer.concat([head, question, ...records.map((data) => recordOf(type, data))]), port, address);
  });
  await once(server, 'listening');
  resolve = createSystemResolver({ servers: [`127.0.0.1:${server.address().port}`] });
});
afterAll(() => void server.close());
beforeEach(() => {
  asked = [];
});

function readQuestion(query: Buffer): { readonly name: string; readonly type: number; readonly question: Buffer } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.'), type: query.readUInt16BE(at + 1), question: query.subarray(12, at + 5) };
}

/** The name is that of the question; it holds for a minute. */
function recordOf(type: number, data: Buffer): Buffer {
  const head = Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 60, 0, data.length]);
  return Buffer.concat([head, data]);
}

test('all addresses of a name, of both kinds, by two questions for exactly that name', async () => {
  expect(await resolve('both.example', never)).toEqual(['192.0.2.1', '192.0.2.2', '2001:db8::1']);
  expect(asked).toEqual(['both.example', 'both.example']);
  expect(await resolve('four.example', never)).toEqual(['192.0.2.1']);
});

test('half an answer will do, no such name is no address, and a refusal is no answer', async () => {
  expect(await resolve('half.example', never)).toEqual(['192.0.2.1']);
  expect(await resolve('none.example', never)).toEqual([]);
  await expect(resolve('closed.example', never)).rejects.toMatchObject({ code: 'EREFUSED' });
  expect(new Set(asked)).toEqual(new Set(['half.example', 'none.example', 'closed.example']));
});

test('neither a hosts file nor a cache answers', async () => {
  const gone = new AbortController();
  const waiting = resolve('localhost', gone.signal);
  await once(server, 'message');
  expect(asked).toContain('localhost');
  gone.abort();
  await expect(waiting).rejects.toMatchObject({ code: 'ECANCELLED' });
  expect(await resolve('four.example', never)).toEqual(await resolve('four.example', never));
  expect(asked.filter((name) => name === 'four.example')).toHaveLength(4);
});

test('whoever does not wait any more leaves no question behind', async () => {
  const gone = new AbortController();
  const waiting = resolve('silent.example', gone.signal);
  await once(server, 'message');
  gone.abort();
  await expect(waiting).rejects.toMatchObject({ code: 'ECANCELLED' });
});
