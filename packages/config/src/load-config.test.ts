import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readEnvironment } from './environment.ts';
import { homeLayout } from './home-layout.ts';
import { loadConfig } from './load-config.ts';

let directory = '';

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'palyra-load-'));
});

afterEach(() => rmSync(directory, { recursive: true }));

function load(variables: Record<string, string> = {}) {
  const loaded = loadConfig({ home: homeLayout(directory), environment: readEnvironment(variables) });
  return { ...loaded, sources: Object.fromEntries(loaded.sources) };
}

test('without a file every setting is its default', () => {
  expect(load()).toEqual({
    config: {
      storage: { url: undefined, lock_timeout_ms: 5000, pool_size: 8 },
      policy: { preset: 'coding', auto_apply: false },
      approvals: {
        unattended: 'wait',
        timeout_minutes: 30,
        timeboxed_hours: 8,
        questions_per_hour: 120,
        cool_down_minutes: 10,
      },
      runs: { orphan_minutes: 10, slow_reader_seconds: 60 },
      journal: { segment_entries: 100_000, segment_hours: 24, keep_days: 0 },
      daemon: expect.any(Object),
      limits: expect.any(Object),
      egress: expect.any(Object),
      telemetry: { traces_url: undefined },
      tool_calls: expect.any(Object),
      process_runner: expect.any(Object),
      wasm_runtime: expect.any(Object),
      log: { level: 'info' },
    },
    file: { path: join(directory, 'palyra.toml'), isPresent: false },
    sources: {
      'storage.url': 'default',
      'storage.lock_timeout_ms': 'default',
      'storage.pool_size': 'default',
      'policy.preset': 'default',
      'policy.auto_apply': 'default',
      'approvals.unattended': 'default',
      'approvals.timeout_minutes': 'default',
      'approvals.timeboxed_hours': 'default',
      'approvals.questions_per_hour': 'default',
      'approvals.cool_down_minutes': 'default',
      'journal.keep_days': 'default',
      'runs.orphan_minutes': 'default',
      'runs.slow_reader_seconds': 'default',
      'journal.segment_entries': 'default',
      'journal.segment_hours': 'default',
      'daemon.listen': 'default',
      'daemon.allow_remote': 'default',
      'daemon.token_listen': 'default',
      'daemon.console': 'default',
      'daemon.pairing_listen': 'default',
      'daemon.idle_minutes': 'default',
      'daemon.shutdown_seconds': 'default',
      'limits.message_bytes': 'default',
      'limits.requests_per_second': 'default',
      'limits.streams_per_principal': 'default',
      'limits.streams_per_connection': 'default',
      'limits.connections': 'default',
      'limits.connections_per_address': 'default',
      'limits.request_seconds': 'default',
      'egress.unlisted': 'default',
      'egress.private_ranges': 'default',
      'egress.registries': 'default',
      'egress.hosts': 'default',
      'egress.authorities': 'default',
      'egress.connections': 'default',
      'egress.megabytes_in': 'default',
      'egress.megabytes_out': 'default',
      'telemetry.traces_url': 'default',
      'tool_calls.allowed_tools': 'default',
      'tool_calls.max_calls_per_run': 'default',
      'tool_calls.execution_timeout_ms': 'default',
      'process_runner.enabled': 'default',
      'process_runner.tier': 'default',
      'process_runner.egress': 'default',
      'process_runner.hosts': 'default',
      'process_runner.wall_ms': 'default',
      'process_runner.idle_ms': 'default',
      'process_runner.cpu_ms': 'default',
      'process_runner.cpu_milli': 'default',
      'process_runner.memory_bytes': 'default',
      'process_runner.processes': 'default',
      'process_runner.open_files': 'default',
      'process_runner.file_bytes': 'default',
      'process_runner.tmpfs_bytes': 'default',
      'process_runner.output_bytes': 'default',
      'wasm_runtime.enabled': 'default',
      'wasm_runtime.fuel_budget': 'default',
      'wasm_runtime.memory_bytes': 'default',
      'wasm_runtime.table_elements': 'default',
      'wasm_runtime.module_bytes': 'default',
      'wasm_runtime.wall_ms': 'default',
      'wasm_runtime.output_bytes': 'default',
      'wasm_runtime.host_calls': 'default',
      'wasm_runtime.instances': 'default',
      'wasm_runtime.host_functions': 'default',
      'log.level': 'default',
    },
  });
});

test('the environment overrides the log level of the file, and each setting knows its source', () => {
  writeFileSync(join(directory, 'palyra.toml'), '[log]\nlevel = "error"\n[storage]\npool_size = 8\n', { mode: 0o600 });
  expect(load().config.log.level).toBe('error');

  const { config, sources } = load({ PALYRA_LOG: 'debug' });
  expect(config.log.level).toBe('debug');
  expect(Object.isFrozen(config) && Object.isFrozen(config.log)).toBe(true);
  expect(sources).toMatchObject({ 'log.level': 'environment', 'storage.pool_size': 'file', 'storage.url': 'default' });
});

test('other PALYRA_ variables change nothing', () => {
  const others = {
    PALYRA_STORAGE_URL: 'postgres://evil/db',
    PALYRA_POOL_SIZE: '1',
    PALYRA_CONFIG: '/tmp/evil.toml',
    PALYRA_LOG_LEVEL: 'debug',
  };
  expect(load(others)).toEqual(load());
});

test('a home that others may enter is refused, also when there is no file in it yet', () => {
  chmodSync(directory, 0o755);
  expect(() => load()).toThrow(expect.objectContaining({ code: 'config.unsafe_home' }));
});
