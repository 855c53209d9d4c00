import { change, type ReadQueries, rowsOf, sql, type WriteQueries, type WriterProgram } from '@palyra/storage';
import type { GatewaySchema } from '../store/gateway-schema.ts';
import type { WasmKeyRow } from './wasm-keys-schema.ts';

export const KEEP_KEY_PROGRAM = 'gateway.keep_key';

export interface KeepKeyInput {
  readonly row: WasmKeyRow;
  /** Keys that one module and principal may have. */
  readonly most: number;
}

/** `full`: it has as many as it may, this one not among them, and nothing was written. */
export type KeptKey = 'kept' | 'full';

/** Puts a key in the writer, one at a time, so that no two calls see the last place free. */
const keepKeyProgram: WriterProgram<KeepKeyInput, KeptKey> = {
  name: KEEP_KEY_PROGRAM,
  *run(untyped, { row, most }) {
    const build = untyped as unknown as ReadQueries<GatewaySchema> & WriteQueries<GatewaySchema>;
    const { principal, module, key, value } = row;
    const others = build
      .selectFrom('gateway_wasm_keys')
      .select(sql<number | string>`count(*)`.as('count'))
      .where('principal', '=', principal)
      .where('module', '=', module)
      .where('key', '!=', key);
    const [counted] = yield* rowsOf(others);
    // SECURITY: T-39 — nobody fills the disk with keys: counted where they are written.
    if (Number(counted?.count) >= most) return 'full';
    const upsert = build
      .insertInto('gateway_wasm_keys')
      .values(row)
      .onConflict((conflict) => conflict.columns(['principal', 'module', 'key']).doUpdateSet({ value }));
    yield* change(upsert, 1);
    return 'kept';
  },
};

export default keepKeyProgram;
