import type { Migration } from '@palyra/storage';

/** What a module keeps of a principal, by key. */
export interface WasmKeyRow {
  readonly principal: string;
  /** By its name: a newer version finds what the older one kept. */
  readonly module: string;
  readonly key: string;
  /** Base64. */
  readonly value: string;
}

export const WASM_KEY_MIGRATIONS: readonly Migration[] = [
  {
    id: 'gateway/0004-wasm-keys',
    statements: (t) => [
      `create table gateway_wasm_keys (
         principal ${t.text} not null, module ${t.text} not null, key ${t.text} not null, value ${t.text} not null,
         primary key (principal, module, key)
       )${t.strict}`,
    ],
  },
];
