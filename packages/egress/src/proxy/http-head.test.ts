import { Duplex } from 'node:stream';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { bodyWriter, CutShort, readBody } from './http-body.ts';
import { BadHead, endToEndHeaders, findHeadEnd, isKeptAlive, readRequestHead, readResponseHead } from './http-head.ts';
import { createLine } from './line.ts';
import { readHead } from './read-head.ts';

const head = (...lines: readonly string[]): Buffer => Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
const faultOf = (act: () => unknown): string => {
  try {
    act();
    return 'none';
  } catch (error) {
    if (error instanceof BadHead) return error.message;
    throw error;
  }
};

test('an ordinary request is read whole', () => {
  const bytes = head(
    'POST http://a.example/x?y HTTP/1.1',
    'Host: a.example',
    'Content-Length: 5',
    'X-Empty:',
    'X-Text: \ta b \t',
  );
  expect(readRequestHead(bytes)).toEqual({
    method: 'POST',
    target: 'http://a.example/x?y',
    minor: 1,
    headers: [
      { name: 'host', written: 'Host', value: 'a.example' },
      { name: 'content-length', written: 'Content-Length', value: '5' },
      { name: 'x-empty', written: 'X-Empty', value: '' },
      { name: 'x-text', written: 'X-Text', value: 'a b' },
    ],
    body: { kind: 'length', bytes: 5 },
  });
});

const GET = 'GET http://a.example/ HTTP/1.1';

test.each([
  ['both lengths', [GET, 'Content-Length: 5', 'Transfer-Encoding: chunked']],
  ['two lengths', [GET, 'Content-Length: 5', 'Content-Length: 6']],
  ['the same length twice', [GET, 'Content-Length: 5', 'content-length: 5']],
  ['a list of lengths', [GET, 'Content-Length: 5, 5']],
  ['a signed length', [GET, 'Content-Length: +5']],
  ['a hexadecimal length', [GET, 'Content-Length: 0x5']],
  ['an endless length', [GET, `Content-Length: ${'9'.repeat(16)}`]],
  ['another coding', [GET, 'Transfer-Encoding: gzip, chunked']],
  ['a disguised coding', [GET, 'Transfer-Encoding: xchunked']],
  ['a coding in quotes', [GET, 'Transfer-Encoding: "chunked"']],
  ['two codings', [GET, 'Transfer-Encoding: chunked', 'Transfer-Encoding: identity']],
  ['chunks in 1.0', ['GET http://a.example/ HTTP/1.0', 'Transfer-Encoding: chunked']],
  ['a blank before the colon', [GET, 'Content-Length : 5']],
  ['a tab before the colon', [GET, 'Transfer-Encoding\t: chunked']],
  ['a folded line', [GET, 'X-A: b', ' Transfer-Encoding: chunked']],
  ['a line without a colon', [GET, 'Content-Length']],
  ['an empty name', [GET, ': x']],
  ['a name with a blank', [GET, 'X A: b']],
  ['a control character', [GET, 'X-A: b\u0001c']],
  ['a NUL', [GET, 'X-A: b\0c']],
  ['a bare CR', [GET, 'X-A: b\rTransfer-Encoding: chunked']],
  ['a bare LF', [GET, 'X-A: b\nTransfer-Encoding: chunked']],
  ['another version', ['GET http://a.example/ HTTP/1.2']],
  ['HTTP/2', ['PRI * HTTP/2.0']],
  ['no version', ['GET http://a.example/']],
  ['two blanks', ['GET  http://a.example/ HTTP/1.1']],
  ['a blank in the target', ['GET http://a.example/ x HTTP/1.1']],
  ['letters of other scripts in the target', ['GET http://a.example/\u00fc HTTP/1.1']],
  ['an empty first line', ['', GET]],
  ['too many headers', [GET, ...Array.from({ length: 201 }, (_, index) => `X-${index}: y`)]],
])('a request with %s is refused', (_what, lines) => {
  expect(faultOf(() => readRequestHead(head(...lines)))).not.toBe('none');
});

test.each([
  ['both lengths', ['HTTP/1.1 200 OK', 'Content-Length: 5', 'Transfer-Encoding: chunked']],
  ['two lengths', ['HTTP/1.1 200 OK', 'Content-Length: 5', 'Content-Length: 5']],
  ['a folded line', ['HTTP/1.1 200 OK', 'X-A: b', '\tc']],
  ['another version', ['HTTP/2 200']],
  ['no status', ['HTTP/1.1 OK']],
  ['a status of four digits', ['HTTP/1.1 2000 OK']],
])('an answer with %s is refused', (_what, lines) => {
  expect(faultOf(() => readResponseHead(head(...lines)))).not.toBe('none');
});

test('bare line ends are refused before the head is whole, and endless heads by their size', () => {
  expect(faultOf(() => findHeadEnd(Buffer.from(`${GET}\nHost: a\n\n`)))).toMatch(/CR LF/);
  expect(faultOf(() => findHeadEnd(Buffer.alloc(70_000, 'a')))).toMatch(/too large/);
  expect(findHeadEnd(Buffer.from(`${GET}\r\nHost: a\r\n\r`))).toBe(-1);
});

test('what is about the connection stays behind, and cannot take the host along', () => {
  const { headers } = readRequestHead(
    head(
      GET,
      'Host: a',
      'Connection: close, X-Secret',
      'X-Secret: 1',
      'Proxy-Authorization: x',
      'Proxy-Connection: keep-alive',
      'TE: trailers',
      'Accept: */*',
    ),
  );
  expect(endToEndHeaders(headers).map(({ name }) => name)).toEqual(['host', 'accept']);
  expect(isKeptAlive({ minor: 1, headers })).toBe(false);
  const bad = readRequestHead(head(GET, 'Host: a', 'Connection: host'));
  expect(faultOf(() => endToEndHeaders(bad.headers))).toMatch(/names host/);
});

test('any bytes at all are a head or not, and nothing else is thrown', () => {
  const piece = fc.constantFrom(
    'GET ',
    'http://a/',
    ' HTTP/1.1',
    '\r\n',
    '\n',
    '\r',
    ' ',
    '\t',
    ':',
    'Host',
    'Content-Length',
    'Transfer-Encoding',
    'chunked',
    '5',
    '\0',
    ',',
    ';',
  );
  fc.assert(
    fc.property(fc.array(fc.oneof(piece, fc.string()), { maxLength: 30 }), (pieces) => {
      const bytes = Buffer.from(pieces.join(''), 'latin1');
      const fault = faultOf(() => {
        const end = findHeadEnd(bytes);
        if (end !== -1) readRequestHead(bytes.subarray(0, end));
      });
      expect(fault).not.toBe('');
    }),
    { numRuns: 2_000 },
  );
});

/** A connection whose other side has said these pieces and then ended; `written` is what it heard. */
function lineOf(pieces: readonly Buffer[]) {
  const written: Buffer[] = [];
  const socket = new Duplex({
    read() {},
    write(chunk: Buffer, _encoding, done) {
      written.push(chunk);
      done();
    },
  });
  for (const piece of pieces) socket.push(piece);
  socket.push(null);
  return { line: createLine(socket), written };
}

const cuts = fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 20 });

function cutInto(bytes: Buffer, sizes: readonly number[]): readonly Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1;
    pieces.push(bytes.subarray(at, at + size));
    at += size;
  }
  return pieces;
}

test('a head and a body are the same however they are cut, and what is behind them stays', async () => {
  const body = Buffer.from('5;ext=1\r\nhello\r\n1\r\n!\r\n0\r\nTrailer: x\r\n\r\nNEXT', 'latin1');
  const bytes = Buffer.concat([head(GET, 'Host: a', 'Transfer-Encoding: chunked'), body]);
  await fc.assert(
    fc.asyncProperty(cuts, async (sizes) => {
      const { line } = lineOf(cutInto(bytes, sizes));
      const read = await readHead(line, { headMs: 60_000 });
      expect(readRequestHead(read ?? Buffer.alloc(0)).body).toEqual({ kind: 'chunked' });
      const heard: Buffer[] = [];
      await readBody(line, { kind: 'chunked' }, (piece) => void heard.push(piece));
      expect(Buffer.concat(heard).toString()).toBe('hello!');
      let rest = '';
      for (let chunk = await line.read(); chunk !== undefined; chunk = await line.read()) rest += chunk.toString();
      expect(rest).toBe('NEXT');
    }),
    { numRuns: 60 },
  );
});

test.each([
  ['a size with a sign', '+5\r\nhello\r\n0\r\n\r\n'],
  ['a size with 0x', '0x5\r\nhello\r\n0\r\n\r\n'],
  ['a size with a blank before it', ' 5\r\nhello\r\n0\r\n\r\n'],
  ['an endless size', '0000000005\r\nhello\r\n0\r\n\r\n'],
  ['no size', '\r\nhello\r\n0\r\n\r\n'],
  ['a bare LF behind the size', '5\nhello\r\n0\r\n\r\n'],
  ['a bare LF in an extension', '5;a\nb\r\nhello\r\n0\r\n\r\n'],
  ['a chunk that is longer than it says', '4\r\nhello\r\n0\r\n\r\n'],
  ['an endless extension', `5;${'a'.repeat(3_000)}\r\nhello\r\n0\r\n\r\n`],
  ['endless trailers', `0\r\n${`X: ${'a'.repeat(900)}\r\n`.repeat(40)}\r\n`],
])('chunks with %s are refused', async (_what, body) => {
  const { line } = lineOf([Buffer.from(body, 'latin1')]);
  await expect(readBody(line, { kind: 'chunked' }, () => undefined)).rejects.toThrow(BadHead);
});

test('a body that ends too early is not taken for a whole one', async () => {
  const { line } = lineOf([Buffer.from('hell')]);
  await expect(readBody(line, { kind: 'length', bytes: 5 }, () => undefined)).rejects.toThrow(CutShort);
});

test('chunks are written anew', async () => {
  const { line, written } = lineOf([]);
  const writer = bodyWriter(line, { kind: 'chunked' });
  await writer.piece(Buffer.from('hello'));
  await writer.end();
  expect(Buffer.concat(written).toString()).toBe('5\r\nhello\r\n0\r\n\r\n');
});
