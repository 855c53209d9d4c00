import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { systemClock } from '@palyra/primitives';
import { createSandbox, type Sandbox, type SandboxOptions } from '@palyra/sandbox';
import { createBuiltinTools } from '../../packages/gateway/src/catalog/builtin-tools.ts';
import { type Catalog, createCatalog } from '../../packages/gateway/src/catalog/create-catalog.ts';
import { parseInput } from '../../packages/gateway/src/catalog/parse-input.ts';
import type {
  ExecuteContext,
  Tool,
  ToolPlan,
  ToolRefusal,
  ToolResult,
} from '../../packages/gateway/src/catalog/tool.ts';
import { createFileTools, type FileTools } from '../../packages/gateway/src/file-tools/create-file-tools.ts';
import type { PermittedCall } from '../../packages/gateway/src/tool-call/permitted-call.ts';
import { createKeptChanges, type KeptChanges } from '../../packages/gateway/src/tools/kept-changes.ts';
import { createProcessRun, type ProcessRunDeps } from '../../packages/gateway/src/tools/process-run.ts';
import { type ProfileChanges, sandboxProfile } from '../sandbox-profile.ts';

/** A workspace and the built-in tools in real sandboxes, without the pipeline around them. */
export interface GatewayToolsPlace extends AsyncDisposable {
  readonly base: string;
  readonly workspace: string;
  readonly sandbox: Sandbox;
  readonly fileTools: FileTools;
  readonly kept: KeptChanges;
  readonly catalog: Catalog;
  /** So that the worker that reads is there before the first test, and stays: what a test starts, it ends. */
  settle(): Promise<void>;
  /** As the pipeline does it: text, schema, plan. */
  plan(tool: string, input: unknown, runId?: string): Promise<ToolPlan | ToolRefusal>;
  /** The plan, which must be one, and then what it says. */
  call(tool: string, input: unknown, options?: CallOptions): Promise<ToolResult>;
  execute(tool: string, plan: ToolPlan | ToolRefusal, options?: CallOptions): Promise<ToolResult>;
  /** With another profile of the operator. */
  processRun(changes: ProfileChanges, deps?: Partial<ProcessRunDeps>): Tool;
  put(path: string, content: string | Uint8Array, mode?: number): void;
  text(path: string): string;
  close(): Promise<void>;
}

export interface CallOptions extends Partial<ExecuteContext> {
  readonly needsBoundBytes?: boolean;
  readonly runId?: string;
}

/** Sandboxes that wait are started during one test and are there after it: who wants them makes a place of its own. */
export async function makeGatewayToolsPlace(pool: SandboxOptions['pool'] = 'off'): Promise<GatewayToolsPlace> {
  // Not below TMPDIR: as root the tool is somebody else, who must be able to enter.
  const base = mkdtempSync('/tmp/palyra-tools-');
  chmodSync(base, 0o755);
  const workspace = join(base, 'workspace');
  for (const name of ['home', 'home/.palyra', 'workspace']) mkdirSync(join(base, name));
  const palyraHome = join(base, 'home/.palyra');
  const sandbox = await createSandbox({
    operator: { path: '/usr/local/bin:/usr/bin:/bin', home: join(base, 'home'), palyraHome, environment: {} },
    logger: { error: () => undefined },
    ...(pool === undefined ? {} : { pool }),
  });
  const profileFor = (root: string) => sandboxProfile(root);
  const fileTools = createFileTools({ sandbox, profileFor, limits: { idleMs: 3_600_000 } });
  const kept = createKeptChanges({ directory: join(palyraHome, 'changes') });
  const catalog = createCatalog(
    createBuiltinTools({ sandbox, profileFor, fileTools, changes: kept, clock: systemClock }),
  );
  const toolOf = (name: string) => {
    const tool = catalog.get(name);
    if (tool === undefined) throw new Error(`There is no tool ${name}.`);
    return tool;
  };
  let calls = 0;
  const place: GatewayToolsPlace = {
    base,
    workspace,
    sandbox,
    fileTools,
    kept,
    catalog,
    async settle() {
      await place.call('palyra.fs.list', {});
    },
    async plan(name, input, runId = 'R0') {
      const { metadata, plan } = toolOf(name);
      const parsed = parseInput(typeof input === 'string' ? input : JSON.stringify(input), metadata);
      if (parsed.kind === 'refused') return parsed;
      calls += 1;
      return plan(parsed.value, { runId, callId: `C${calls}`, workspace, timeoutMs: 20_000 });
    },
    async call(name, input, options = {}) {
      const plan = await place.plan(name, input, options.runId);
      if (options.needsBoundBytes === true && plan.kind === 'planned') await plan.bind();
      return place.execute(name, plan, options);
    },
    execute: (name, plan, options) => executePlan(toolOf(name), plan, options),
    processRun: (changes, deps = {}) =>
      createProcessRun({ sandbox, profileFor: (root) => sandboxProfile(root, changes), clock: systemClock, ...deps }),
    put(path, content, mode = 0o644) {
      mkdirSync(dirname(join(workspace, path)), { recursive: true });
      writeFileSync(join(workspace, path), content);
      chmodSync(join(workspace, path), mode);
    },
    text: (path) => readFileSync(join(workspace, path), 'utf8'),
    [Symbol.asyncDispose]: () => place.close(),
    async close() {
      await fileTools.close();
      await sandbox.close();
      rmSync(base, { recursive: true, force: true });
    },
  };
  return place;
}

/** Only here: everywhere else a permitted call comes from `approve`. */
export function executePlan(tool: Tool, plan: ToolPlan | ToolRefusal, options: CallOptions = {}): Promise<ToolResult> {
  const { needsBoundBytes = false, signal = new AbortController().signal, onOutput, attached, ready } = options;
  if (plan.kind === 'refused') throw new Error(`It was refused: ${plan.code} ${plan.message}`);
  const call = { plan, needsBoundBytes } as PermittedCall;
  return tool.execute(call, {
    signal,
    ...(onOutput === undefined ? {} : { onOutput }),
    ...(attached === undefined ? {} : { attached }),
    ...(ready === undefined ? {} : { ready }),
  });
}
