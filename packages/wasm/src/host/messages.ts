import { frameOf } from './frames.ts';

/** Of a frame to a host. */
export const TO_HOST = { load: 1, call: 2, answer: 3 } as const;
/** Of a frame from a host. */
export const FROM_HOST = { hello: 65, loaded: 66, result: 67, ask: 68 } as const;

/** How a guest's call can end inside its host; in this order on the wire. */
export const GUEST_ENDS = [
  'completed',
  'invalid_module',
  'capability_denied',
  'fuel_exhausted',
  'depth_exceeded',
  'memory_exceeded',
  'trapped',
  'output_too_large',
  'host_error',
] as const;
export type GuestEnd = (typeof GUEST_ENDS)[number];

/** Host calls that palyrad answers; in this order on the wire. The others a host answers itself. */
export const ASKED_FUNCTIONS = [
  'http_request',
  'secret_use',
  'kv_get',
  'kv_put',
  'kv_delete',
  'kv_list',
  'emit',
] as const;
export type AskedFunction = (typeof ASKED_FUNCTIONS)[number];

/** What a host call is answered with: not negative is success, and the bytes are its result. */
export const ANSWER = { done: 0, absent: -1, refused: -2, failed: -3 } as const;

/** One file, directory or link of a granted prefix. */
export type GrantedEntry =
  | { readonly kind: 'file'; readonly path: string; readonly base64: string }
  | { readonly kind: 'directory'; readonly path: string }
  | { readonly kind: 'link'; readonly path: string; readonly target: string };

/** A prefix of the guest's file system; it lives in the host's memory and ends with the call. */
export interface GrantedPrefix {
  readonly path: string;
  readonly access: 'read' | 'write';
  readonly entries: readonly GrantedEntry[];
}

/** Everything about a guest that is the same for all its calls. */
export interface GuestSettings {
  /** Names that are linked, such as `kv_get`; nothing else of ours is there. */
  readonly functions: readonly string[];
  readonly stackSlots: number;
  readonly outputBytes: number;
  readonly logBytes: number;
  readonly hostCalls: number;
  readonly argv0: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly prefixes: readonly GrantedPrefix[];
  /** Of all files that a call makes or changes. */
  readonly fileBytes: number;
}

export interface CallMessage {
  readonly id: number;
  /** SECURITY: T-27 — eight random bytes of this call: whoever has them not gets nothing done. */
  readonly handle: bigint;
  readonly fuel: bigint;
  readonly args: readonly string[];
  readonly input: Uint8Array;
}

export interface ResultMessage {
  readonly id: number;
  readonly end: GuestEnd;
  /** Whether the instance was used before, and put back. */
  readonly reused: boolean;
  readonly fuelUsed: bigint;
  readonly hostCalls: number;
  readonly exitCode: number;
  readonly memoryPages: number;
  readonly log: Buffer;
  readonly message: string;
  readonly output: Buffer;
}

export interface AskMessage {
  readonly id: number;
  readonly handle: bigint;
  /** Counts the questions of one call. */
  readonly number: number;
  readonly function: AskedFunction;
  readonly body: Buffer;
}

export interface AnswerMessage {
  readonly id: number;
  readonly number: number;
  readonly status: number;
  readonly body: Uint8Array;
}

export type LoadedMessage =
  | { readonly kind: 'ready'; readonly restorable: boolean }
  | { readonly kind: 'refused'; readonly end: GuestEnd; readonly message: string };

export function loadFrame(settings: GuestSettings, module: Uint8Array): Buffer {
  const json = Buffer.from(JSON.stringify(settings));
  return frameOf(TO_HOST.load, [sized(json.length), json, module]);
}

export function readLoad(body: Buffer): { readonly settings: GuestSettings; readonly module: Buffer } {
  const length = body.readUInt32LE(0);
  const settings = JSON.parse(body.toString('utf8', 4, 4 + length)) as GuestSettings;
  return { settings, module: body.subarray(4 + length) };
}

export function callFrame({ id, handle, fuel, args, input }: CallMessage): Buffer {
  const head = Buffer.allocUnsafe(24);
  const json = args.length === 0 ? NOTHING : Buffer.from(JSON.stringify(args));
  head.writeUInt32LE(id, 0);
  head.writeBigUInt64LE(handle, 4);
  head.writeBigUInt64LE(fuel, 12);
  head.writeUInt32LE(json.length, 20);
  return frameOf(TO_HOST.call, [head, json, input]);
}

export function readCall(body: Buffer): CallMessage {
  const length = body.readUInt32LE(20);
  return {
    id: body.readUInt32LE(0),
    handle: body.readBigUInt64LE(4),
    fuel: body.readBigUInt64LE(12),
    args: length === 0 ? [] : (JSON.parse(body.toString('utf8', 24, 24 + length)) as string[]),
    input: body.subarray(24 + length),
  };
}

export function answerFrame({ id, number, status, body }: AnswerMessage): Buffer {
  const head = Buffer.allocUnsafe(12);
  head.writeUInt32LE(id, 0);
  head.writeUInt32LE(number, 4);
  head.writeInt32LE(status, 8);
  return frameOf(TO_HOST.answer, [head, body]);
}

export function readAnswer(body: Buffer): AnswerMessage {
  return {
    id: body.readUInt32LE(0),
    number: body.readUInt32LE(4),
    status: body.readInt32LE(8),
    body: body.subarray(12),
  };
}

export function askFrame({ id, handle, number, function: name, body }: AskMessage): Buffer {
  const head = Buffer.allocUnsafe(17);
  head.writeUInt32LE(id, 0);
  head.writeBigUInt64LE(handle, 4);
  head.writeUInt32LE(number, 12);
  head[16] = ASKED_FUNCTIONS.indexOf(name);
  return frameOf(FROM_HOST.ask, [head, body]);
}

/** Throws when it is no question: whoever sent it is no host of ours any more. */
export function readAsk(body: Buffer): AskMessage {
  const name = ASKED_FUNCTIONS[body.readUInt8(16)];
  if (name === undefined) throw new Error('A host asks for a function that is not there.');
  return {
    id: body.readUInt32LE(0),
    handle: body.readBigUInt64LE(4),
    number: body.readUInt32LE(12),
    function: name,
    body: body.subarray(17),
  };
}

const RESULT_HEAD = 38;

export function resultFrame(result: ResultMessage): Buffer {
  const head = Buffer.allocUnsafe(RESULT_HEAD);
  const message = Buffer.from(result.message);
  head.writeUInt32LE(result.id, 0);
  head[4] = GUEST_ENDS.indexOf(result.end);
  head[5] = result.reused ? 1 : 0;
  head.writeBigUInt64LE(result.fuelUsed, 6);
  head.writeUInt32LE(result.hostCalls, 14);
  head.writeInt32LE(result.exitCode, 18);
  head.writeUInt32LE(result.memoryPages, 22);
  head.writeUInt32LE(result.log.length, 26);
  head.writeUInt32LE(message.length, 30);
  head.writeUInt32LE(result.output.length, 34);
  return frameOf(FROM_HOST.result, [head, result.log, message, result.output]);
}

/** Throws when it is no result: whoever sent it is no host of ours any more. */
export function readResult(body: Buffer): ResultMessage {
  const end = GUEST_ENDS[body.readUInt8(4)];
  const logEnd = RESULT_HEAD + body.readUInt32LE(26);
  const messageEnd = logEnd + body.readUInt32LE(30);
  // SECURITY: T-56 — lengths that do not add up are not those of a result.
  if (end === undefined || messageEnd + body.readUInt32LE(34) !== body.length)
    throw new Error('No result is like that.');
  return {
    id: body.readUInt32LE(0),
    end,
    reused: body[5] === 1,
    fuelUsed: body.readBigUInt64LE(6),
    hostCalls: body.readUInt32LE(14),
    exitCode: body.readInt32LE(18),
    memoryPages: body.readUInt32LE(22),
    log: body.subarray(RESULT_HEAD, logEnd),
    message: body.toString('utf8', logEnd, messageEnd),
    output: body.subarray(messageEnd),
  };
}

export function loadedFrame(loaded: LoadedMessage): Buffer {
  return frameOf(FROM_HOST.loaded, [Buffer.from(JSON.stringify(loaded))]);
}

export const HELLO: Buffer = frameOf(FROM_HOST.hello, [Buffer.from('palyra.wasm.host/1')]);

const NOTHING = Buffer.alloc(0);

function sized(length: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32LE(length, 0);
  return bytes;
}
