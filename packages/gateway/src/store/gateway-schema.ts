import type { Migration } from '@palyra/storage';
import { WASM_KEY_MIGRATIONS, type WasmKeyRow } from '../wasm-hosts/wasm-keys-schema.ts';
import { WORKSPACE_MIGRATIONS, type WorkspaceRow } from '../workspaces/workspaces-schema.ts';

export interface RunRow {
  readonly id: string;
  readonly session: string;
  readonly principal: string;
  readonly credential: string;
  readonly workspace: string;
  readonly workspace_root: string;
  readonly state: 'open' | 'ended';
  /** Calls whose intent was recorded, and calls that were refused. */
  readonly calls: number;
  readonly refused: number;
  readonly max_calls: number;
  /** Canonical JSON of the caller and the configuration. */
  readonly opened_with: string;
  /** The process that owns it. */
  readonly owner: string;
  readonly started_at: number;
  readonly ended_at: number | null;
  /** How many processes have opened it. */
  readonly generation: number;
  /** Under which number its end was told. */
  readonly told: number | null;
}

export interface CallRow {
  readonly id: string;
  readonly run: string;
  readonly key: string | null;
  /** The commitment of the input: the text itself is beside the journal, where it can be erased. */
  readonly input: string;
  readonly tool: string;
  readonly state: 'executing' | 'ended';
  readonly owner: string;
  /** Canonical JSON: what is attested of it whatever becomes of it. */
  readonly facts: string;
  /** Canonical JSON of the result without what was put out; null while it runs. */
  readonly result: string | null;
  /** The commitment of what was put out. */
  readonly output: string | null;
  /** Under which number its result was told; null when nobody listened. */
  readonly told: number | null;
}

export interface GatewaySchema {
  readonly gateway_runs: RunRow;
  readonly gateway_calls: CallRow;
  readonly gateway_workspaces: WorkspaceRow;
  readonly gateway_wasm_keys: WasmKeyRow;
}

export const GATEWAY_MIGRATIONS: readonly Migration[] = [
  {
    id: 'gateway/0001-runs-and-calls',
    statements: (t) => [
      `create table gateway_runs (
         id ${t.text} primary key, session ${t.text} not null, principal ${t.text} not null,
         credential ${t.text} not null, workspace ${t.text} not null, workspace_root ${t.text} not null, state ${t.text} not null,
         calls ${t.integer} not null, refused ${t.integer} not null, max_calls ${t.integer} not null,
         opened_with ${t.text} not null, owner ${t.text} not null, started_at ${t.integer} not null,
         ended_at ${t.integer}
       )${t.strict}`,
      `create table gateway_calls (
         id ${t.text} primary key, run ${t.text} not null, key ${t.text}, input ${t.text} not null,
         tool ${t.text} not null, state ${t.text} not null, owner ${t.text} not null, facts ${t.text} not null,
         result ${t.text}, output ${t.text}
       )${t.strict}`,
      'create index gateway_runs_session on gateway_runs (session, credential)',
      'create unique index gateway_calls_key on gateway_calls (run, key) where key is not null',
      "create index gateway_calls_executing on gateway_calls (owner) where state = 'executing'",
    ],
  },
  ...WORKSPACE_MIGRATIONS,
  {
    id: 'gateway/0003-told-numbers',
    statements: (t) => [
      `alter table gateway_runs add column generation ${t.integer} not null default 1`,
      `alter table gateway_runs add column told ${t.integer}`,
      `alter table gateway_calls add column told ${t.integer}`,
      'create index gateway_calls_told on gateway_calls (run, told) where told is not null',
      "create index gateway_runs_open on gateway_runs (owner) where state = 'open'",
    ],
  },
  ...WASM_KEY_MIGRATIONS,
];
