import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createSandbox, type Sandbox } from '@palyra/sandbox';
import {
  type BlobStore,
  createFileTools,
  type FileToolContext,
  type FileTools,
  type FileToolsOptions,
} from '../../packages/gateway/src/file-tools/create-file-tools.ts';
import type { FileToolResult } from '../../packages/gateway/src/file-tools/file-tool-result.ts';
import type { FileToolName } from '../../packages/gateway/src/file-tools/worker/protocol.ts';
import { type ProfileChanges, sandboxProfile } from '../sandbox-profile.ts';

/** A workspace with file tools, in real sandboxes. */
export interface FileToolsPlace {
  /** What is in it beside the workspace is outside. */
  readonly base: string;
  readonly workspace: string;
  readonly sandbox: Sandbox;
  readonly tools: FileTools;
  readonly blobs: Map<string, Uint8Array>;
  readonly context: FileToolContext;
  /** More tools of the same place; whoever asks closes them. */
  make(options?: Partial<FileToolsOptions> & { readonly profile?: ProfileChanges }): FileTools;
  run(tool: string, input: unknown, context?: Partial<FileToolContext>): Promise<FileToolResult>;
  put(path: string, content: string | Uint8Array, mode?: number): void;
  text(path: string): string;
  close(): Promise<void>;
}

export async function makeFileToolsPlace(): Promise<FileToolsPlace> {
  // Not below TMPDIR: as root the worker is somebody else, who must be able to enter.
  const base = mkdtempSync('/tmp/palyra-files-');
  chmodSync(base, 0o755);
  const workspace = join(base, 'workspace');
  for (const name of ['home', 'home/.palyra', 'workspace']) mkdirSync(join(base, name));
  const sandbox = await createSandbox({
    operator: {
      path: '/usr/local/bin:/usr/bin:/bin',
      home: join(base, 'home'),
      palyraHome: join(base, 'home/.palyra'),
      environment: {},
    },
    logger: { error: () => undefined },
    // Sandboxes that wait for a next worker would be there after the test that started them.
    pool: 'off',
  });
  const blobs = new Map<string, Uint8Array>();
  const store: BlobStore = {
    keep: async ({ sha256, bytes }) => void blobs.set(sha256, Buffer.from(bytes)),
    fetch: async (sha256) => blobs.get(sha256),
  };
  const context: FileToolContext = { workspace, blobs: store };
  const made: FileTools[] = [];
  const make: FileToolsPlace['make'] = ({ profile = {}, ...options } = {}) => {
    const tools = createFileTools({ sandbox, profileFor: (root) => sandboxProfile(root, profile), ...options });
    made.push(tools);
    return tools;
  };
  // The worker that reads is there before the first test, and stays: what a test starts, it ends.
  const tools = make({ limits: { idleMs: 3_600_000 } });
  await tools.run('palyra.fs.list', {}, context);
  return {
    base,
    workspace,
    sandbox,
    tools,
    blobs,
    context,
    make,
    run: (tool, input, more = {}) => tools.run(`palyra.fs.${tool}` as FileToolName, input, { ...context, ...more }),
    put(path, content, mode = 0o644) {
      mkdirSync(dirname(join(workspace, path)), { recursive: true });
      writeFileSync(join(workspace, path), content);
      chmodSync(join(workspace, path), mode);
    },
    text: (path) => readFileSync(join(workspace, path), 'utf8'),
    async close() {
      for (const each of made) await each.close();
      await sandbox.close();
      rmSync(base, { recursive: true, force: true });
    },
  };
}
