import { type CommitOutcome, type Database, program, statement } from '@palyra/storage';
import { ANSWER, type HostAnswer } from '@palyra/wasm';
import type { GatewaySchema } from '../store/gateway-schema.ts';
import { KEEP_KEY_PROGRAM, type KeepKeyInput, type KeptKey } from './keep-key-program.ts';

/** SECURITY: T-27 — whose keys: never one that the guest names. */
export interface KeyOwner {
  readonly principal: string;
  readonly module: string;
}

/** The keys and values of one module and principal. Does not throw but what the database throws. */
export interface WasmKeys {
  get(key: Buffer): Promise<HostAnswer>;
  put(key: Buffer, value: Buffer): Promise<HostAnswer>;
  remove(key: Buffer): Promise<HostAnswer>;
  /** JSON list of the keys that begin so, in order. */
  list(prefix: Buffer): Promise<HostAnswer>;
}

const MOST_KEY_BYTES = 256;
const MOST_VALUE_BYTES = 64 * 1024;
const MOST_KEYS = 1_000;
const MOST_LISTED = 1_000;
const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export function wasmKeysOf(database: Database<GatewaySchema>, { principal, module }: KeyOwner): WasmKeys {
  const rows = () =>
    database.read.selectFrom('gateway_wasm_keys').where('principal', '=', principal).where('module', '=', module);
  return {
    async get(bytes) {
      const key = keyOf(bytes);
      if (key === undefined) return refused('A key is text of 1 to 256 bytes.');
      const row = await rows().select('value').where('key', '=', key).executeTakeFirst();
      return row === undefined ? ABSENT : { status: ANSWER.done, body: Buffer.from(row.value, 'base64') };
    },
    async put(bytes, content) {
      const key = keyOf(bytes);
      if (key === undefined) return refused('A key is text of 1 to 256 bytes.');
      if (content.length > MOST_VALUE_BYTES) return refused('A value has at most 65536 bytes.');
      const input: KeepKeyInput = {
        row: { principal, module, key, value: content.toString('base64') },
        most: MOST_KEYS,
      };
      const outcome = await database.commit({ steps: [program(KEEP_KEY_PROGRAM, input)] });
      return keptOf(outcome) === 'kept' ? DONE : refused('It keeps as many keys as it may.');
    },
    async remove(bytes) {
      const key = keyOf(bytes);
      if (key === undefined) return refused('A key is text of 1 to 256 bytes.');
      const removal = database.write
        .deleteFrom('gateway_wasm_keys')
        .where('principal', '=', principal)
        .where('module', '=', module)
        .where('key', '=', key);
      const known = await rows().select('key').where('key', '=', key).executeTakeFirst();
      if (known === undefined) return ABSENT;
      await database.commit({ steps: [statement(removal)] });
      return DONE;
    },
    async list(bytes) {
      const prefix = bytes.length === 0 ? '' : keyOf(bytes);
      if (prefix === undefined) return refused('A prefix is text of at most 256 bytes.');
      const all = await rows().select('key').execute();
      // Sorted here: a database sorts as its language does, and a guest finds the same order everywhere.
      const keys = all
        .map(({ key }) => key)
        .filter((key) => key.startsWith(prefix))
        .toSorted();
      return { status: ANSWER.done, body: Buffer.from(JSON.stringify(keys.slice(0, MOST_LISTED))) };
    },
  };
}

const NOTHING = Buffer.alloc(0);
const DONE: HostAnswer = { status: ANSWER.done, body: NOTHING };
const ABSENT: HostAnswer = { status: ANSWER.absent, body: NOTHING };

function keptOf(outcome: CommitOutcome): KeptKey {
  const [result] = outcome.kind === 'committed' ? outcome.results : [];
  return result?.kind === 'program' && result.output === 'kept' ? 'kept' : 'full';
}

export function refused(message: string): HostAnswer {
  return { status: ANSWER.refused, body: Buffer.from(JSON.stringify({ message })) };
}

function keyOf(bytes: Buffer): string | undefined {
  if (bytes.length === 0 || bytes.length > MOST_KEY_BYTES) return undefined;
  try {
    const key = strict.decode(bytes);
    return key.includes('\0') ? undefined : key;
  } catch {
    return undefined;
  }
}
