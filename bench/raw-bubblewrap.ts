import { type StdioOptions, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Sandbox } from '@palyra/sandbox';
import type { Contender } from './harness.ts';
import { COMMAND, profileOf, type SandboxPlace } from './sandbox-place.ts';
import { untilClosed } from './until-closed.ts';

/** What somebody would get who ran bubblewrap with the flags of our Tier C, and nothing else of it. */
export function rawBubblewrap<Context extends SandboxPlace & { readonly sandbox: Sandbox }>(
  name: string,
): Contender<Context> {
  return {
    name,
    async prepare({ sandbox, directory, workspace, owner }) {
      const planned = await sandbox.plan({ argv: [COMMAND] }, profileOf('C', workspace));
      if (planned.kind === 'refused') return { notMeasured: planned.message };
      const { wrapper = [], staged, data, tool } = planned.plan;
      if (staged.length > 0) return { notMeasured: 'only root could put the paths there that this plan needs' };

      const [program = '', ...flags] = wrapper.slice(0, -STAGE_ARGUMENTS);
      const files = await writeData(join(directory, 'bubblewrap'), data);
      const environment = Object.fromEntries(tool.environment.map((each) => each.split(/=(.*)/s, 2)));
      return {
        async operation() {
          // Anew each time: bubblewrap reads them to their end.
          const opened = files.map(({ fd, path }) => ({ fd, file: openSync(path, 'r') }));
          try {
            const child = spawn(program, [...flags, tool.path], {
              cwd: workspace,
              env: environment,
              stdio: stdioOf(opened),
              ...(owner === undefined ? {} : { uid: owner, gid: owner }),
            });
            await untilClosed(child);
          } finally {
            for (const { file } of opened) closeSync(file);
          }
        },
      };
    },
  };
}

/** The least that could be called a sandbox: what others take can be compared with what no bubblewrap goes below. */
export function leastBubblewrap<Context extends SandboxPlace>(name: string): Contender<Context> {
  const flags = ['--unshare-all', '--die-with-parent', '--ro-bind', '/', '/', '--proc', '/proc', '--dev', '/dev'];
  return {
    name,
    prepare: ({ workspace, owner }) => ({
      operation: () =>
        untilClosed(
          spawn('bwrap', [...flags, COMMAND], {
            cwd: workspace,
            stdio: ['ignore', 'pipe', 'pipe'],
            ...(owner === undefined ? {} : { uid: owner, gid: owner }),
          }),
        ),
    }),
  };
}

/** The launcher's own binary and the word `stage`, where a tool would be. */
const STAGE_ARGUMENTS = 2;

interface DataPath {
  readonly fd: number;
  readonly path: string;
}

async function writeData(
  directory: string,
  data: readonly { readonly fd: number; readonly bytes: Uint8Array }[],
): Promise<readonly DataPath[]> {
  await mkdir(directory);
  const files = data.map(({ fd, bytes }) => ({ fd, path: join(directory, String(fd)), bytes }));
  for (const { path, bytes } of files) await writeFile(path, bytes);
  return files;
}

function stdioOf(opened: readonly { readonly fd: number; readonly file: number }[]): StdioOptions {
  const length = Math.max(3, ...opened.map(({ fd }) => fd + 1));
  const byNumber = new Map(opened.map(({ fd, file }) => [fd, file]));
  return Array.from({ length }, (_, fd) => (fd === 1 || fd === 2 ? 'pipe' : (byNumber.get(fd) ?? 'ignore')));
}
