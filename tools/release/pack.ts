import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

/** Makes the tarball of a staged package. npm writes fixed times and a fixed order, so the same input gives the same bytes. */
export function pack(folder: string, destination: string): string {
  const npm = process.env['npm_execpath'];
  // The host's Node, when npm started us: this npm was installed for it.
  const [command, ...first] =
    npm === undefined
      ? [process.platform === 'win32' ? 'npm.cmd' : 'npm']
      : [process.env['npm_node_execpath'] ?? 'node', npm];
  const args = ['pack', '--json', '--ignore-scripts', '--loglevel=error', `--pack-destination=${destination}`];
  const { status, stdout, stderr } = spawnSync(command, [...first, ...args], {
    cwd: folder,
    encoding: 'utf8',
    // npm would keep what it compiled in the directory for temporary files.
    env: { ...process.env, NODE_DISABLE_COMPILE_CACHE: '1' },
  });
  if (status !== 0) throw new Error(`npm pack failed: ${stderr}`);
  const packed: unknown = JSON.parse(stdout);
  return join(destination, tarballName(packed));
}

/** npm 12 answers with an object by package name, earlier ones with a list. */
function tarballName(packed: unknown): string {
  if (typeof packed !== 'object' || packed === null) throw new Error('npm pack said nothing');
  const [first] = Object.values(packed) as { readonly filename?: string }[];
  if (first?.filename === undefined) throw new Error('npm pack named no file');
  return first.filename;
}
