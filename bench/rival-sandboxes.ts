import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Contender, NotMeasured, Workload } from './harness.ts';
import { rivalPackage } from './install-rivals.ts';
import { COMMAND, type SandboxPlace } from './sandbox-place.ts';
import { untilClosed } from './until-closed.ts';

const RUNTIME = '@anthropic-ai/sandbox-runtime';
const CODEX = '@openai/codex';

/** As much of its interface as we use; it is installed only when asked for, so its types may not be there. */
interface RuntimeModule {
  readonly SandboxManager: {
    initialize(settings: unknown): Promise<void>;
    wrapWithSandbox(command: string): Promise<string>;
    cleanupAfterCommand(): void;
    reset(): Promise<void>;
  };
}

/** The library: initialised once, and then each command is wrapped and spawned, as its documentation does. */
export function runtimeLibrary<Context extends SandboxPlace>(name: string): Contender<Context> {
  return rival(name, async ({ directory }) => {
    const workspace = await ownWorkspace(directory);
    const { href } = pathToFileURL(`${await rivalPackage(RUNTIME)}/dist/index.js`);
    const { SandboxManager }: RuntimeModule = await import(href);
    await SandboxManager.initialize(runtimeSettings(workspace));
    // It searches the current directory for files to protect, each time: that shall be the workspace, and not our checkout.
    const before = process.cwd();
    process.chdir(workspace);
    return {
      async operation() {
        const wrapped = await SandboxManager.wrapWithSandbox(COMMAND);
        await untilClosed(spawn(wrapped, { cwd: workspace, shell: true, stdio: ['ignore', 'pipe', 'pipe'] }));
        SandboxManager.cleanupAfterCommand();
      },
      async close() {
        // It waits for things that do not keep a process alive.
        const awake = setInterval(() => {}, 1_000);
        await SandboxManager.reset();
        clearInterval(awake);
        process.chdir(before);
      },
    };
  });
}

/** The command `srt`, as somebody would type it. */
export function runtimeCommand<Context extends SandboxPlace>(name: string): Contender<Context> {
  return rival(name, async ({ directory }) => {
    const workspace = await ownWorkspace(directory);
    const script = `${await rivalPackage(RUNTIME)}/dist/cli.js`;
    const settings = join(directory, 'srt-settings.json');
    await writeFile(settings, JSON.stringify(runtimeSettings(workspace)));
    return { operation: () => untilClosed(onOurNode([script, '--settings', settings, COMMAND], { cwd: workspace })) };
  });
}

/** The command `codex sandbox`, with its own settings: everything readable, nothing writable, no network. */
export function codexCommand<Context extends SandboxPlace>(name: string): Contender<Context> {
  return rival(name, async ({ directory }) => {
    const workspace = await ownWorkspace(directory);
    const script = `${await rivalPackage(CODEX)}/bin/codex.js`;
    // Not in a temporary directory: it refuses to put there what it needs.
    const home = join(directory, 'codex');
    await mkdir(home);
    return {
      operation: () =>
        untilClosed(
          onOurNode([script, 'sandbox', '--', COMMAND], { cwd: workspace, env: { CODEX_HOME: home, HOME: home } }),
        ),
    };
  });
}

/** A rival that does not come, or does not work here, is named in the report; it does not keep us from measuring. */
function rival<Context extends SandboxPlace>(
  name: string,
  open: (place: SandboxPlace) => Promise<Workload>,
): Contender<Context> {
  return {
    name,
    async prepare(place): Promise<Workload | NotMeasured> {
      let workload: Workload | undefined;
      try {
        workload = await open(place);
        await workload.operation(0);
        return workload;
      } catch (error) {
        await workload?.close?.();
        return { notMeasured: error instanceof Error ? error.message : String(error) };
      }
    },
  };
}

/** Rivals run a command as whoever they are, and so the workspace is that user's, too. */
async function ownWorkspace(directory: string): Promise<string> {
  const workspace = join(directory, 'rival-workspace');
  await mkdir(workspace, { recursive: true });
  return workspace;
}

/** The workspace and nothing else to write, and no network: what our Tier C gives. */
function runtimeSettings(workspace: string) {
  return {
    network: { allowedDomains: [], deniedDomains: [] },
    filesystem: { denyRead: [], allowWrite: [workspace], denyWrite: [] },
  };
}

function onOurNode(
  args: readonly string[],
  { cwd, env = {} }: { readonly cwd: string; readonly env?: Readonly<Record<string, string>> },
): ChildProcess {
  const path = [dirname(process.execPath), process.env['PATH'] ?? ''].join(delimiter);
  const [script = '', ...rest] = args;
  return spawn(process.execPath, [script, ...rest], {
    cwd,
    env: { ...process.env, PATH: path, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}
