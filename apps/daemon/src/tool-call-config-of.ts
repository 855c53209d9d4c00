import { type Config, namesIn } from '@palyra/config';
import type { ToolCallConfig } from '@palyra/gateway';
import type { Limits } from '@palyra/sandbox';
import { processHostsOf } from './process-hosts.ts';
import { wasmRuntimeOf } from './wasm-modules.ts';

/** What palyra.toml says of tool calls. Throws `gateway.invalid_config` for hosts that are none. */
export function toolCallConfigOf(config: Config): ToolCallConfig {
  const { tool_calls: calls, process_runner: runner } = config;
  return {
    allowedTools: namesIn(calls.allowed_tools),
    maxCallsPerRun: calls.max_calls_per_run,
    executionTimeoutMs: calls.execution_timeout_ms,
    processRunner: {
      enabled: runner.enabled,
      tier: runner.tier,
      egress: runner.egress,
      ...processHostsOf(runner.hosts),
      // All of them, the usual ones too: the signed snapshot says what held, whatever is usual later.
      limits: { ...limitsOf(runner) },
    },
    wasmRuntime: wasmRuntimeOf(config),
  };
}

function limitsOf(runner: Config['process_runner']): Limits {
  return {
    wallMs: runner.wall_ms,
    idleMs: runner.idle_ms,
    cpuMs: runner.cpu_ms,
    cpuMilli: runner.cpu_milli,
    memoryBytes: runner.memory_bytes,
    processes: runner.processes,
    openFiles: runner.open_files,
    fileBytes: runner.file_bytes,
    tmpfsBytes: runner.tmpfs_bytes,
    outputBytes: runner.output_bytes,
  };
}
