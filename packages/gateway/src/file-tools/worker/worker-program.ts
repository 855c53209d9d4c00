/**
 * The program inside the sandbox: one request after the other from stdin, answers to stdout, until stdin ends. It imports
 * nothing but Node's own modules and its neighbours in this directory, which is all of Palyra that the sandbox shows.
 */
import { readSync, writeSync } from 'node:fs';
import { FileFailure, fromSystem } from './file-failure.ts';
import { blobFrame, createFrameReader, type Frame, jsonFrame } from './frames.ts';
import { sha256 } from './open-file.ts';
import type { Conversation } from './perform-change.ts';
import type { WorkerOrder, WorkerReply, WorkerRequest } from './protocol.ts';
import { serveRequest } from './serve-request.ts';
import { openRoot, type Root } from './walk-path.ts';

const STDIN = 0;
const STDOUT = 1;
const PIECE = 256 * 1024;

interface Incoming {
  /** Undefined at the end. */
  next(): Frame | undefined;
}

function main(): void {
  // Modes are given, not left to whoever started us.
  process.umask(0o022);
  const root = openRoot(process.cwd());
  const incoming = readFrames();
  send(jsonFrame({ kind: 'hello' } satisfies WorkerReply));
  for (let frame = incoming.next(); frame !== undefined; frame = incoming.next()) {
    if (frame.kind !== 'json') throw new Error('A blob came without a request.');
    answer(JSON.parse(frame.payload.toString('utf8')) as WorkerRequest, root, incoming);
  }
}

function answer(request: WorkerRequest, root: Root, incoming: Incoming): void {
  const conversation: Conversation = {
    say: (reply) => send(withinLimit(reply, request.limits.answerBytes)),
    sendBlob: (digest, bytes) => send(blobFrame(digest, bytes)),
    hearOrder() {
      const frame = incoming.next();
      // Whoever is gone has not kept anything.
      if (frame?.kind !== 'json') return { order: 'abort' };
      return JSON.parse(frame.payload.toString('utf8')) as WorkerOrder;
    },
  };
  const blobs = new Map<string, Buffer>();
  for (let count = 0; count < request.blobs; count += 1) {
    const frame = incoming.next();
    if (frame?.kind !== 'blob') throw new Error('Fewer blobs came than were announced.');
    if (sha256(frame.bytes) === frame.sha256) blobs.set(frame.sha256, frame.bytes);
  }
  try {
    serveRequest(request, { root, blobs, conversation });
  } catch (error) {
    const { code, message, details } = fromSystem(error, '');
    send(jsonFrame({ kind: 'failed', code, message, effect: 'none', ...details } satisfies WorkerReply));
  }
}

function withinLimit(reply: WorkerReply, maxBytes: number): Buffer {
  const frame = jsonFrame(reply);
  if (frame.length <= maxBytes) return frame;
  throw new FileFailure('file.too_large', 'The answer would be larger than an answer may be.', {
    fix: 'Ask for less.',
  });
}

function readFrames(): Incoming {
  const reader = createFrameReader();
  const ready: Frame[] = [];
  return {
    next() {
      while (ready.length === 0) {
        const piece = Buffer.allocUnsafe(PIECE);
        const count = readSync(STDIN, piece);
        if (count === 0) return undefined;
        ready.push(...reader.push(piece.subarray(0, count)));
      }
      return ready.shift();
    },
  };
}

function send(frame: Buffer): void {
  for (let sent = 0; sent < frame.length; ) sent += writeSync(STDOUT, frame, sent);
}

main();
