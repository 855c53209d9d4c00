import { cpSync, existsSync, globSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { bundledManifest, releaseManifest } from './release-manifest.ts';
import { readManifest, shippedPackages, type WorkspacePackage, workspacePackages } from './workspace.ts';

/** Fills `target` with the one package we release, from compiled workspaces. */
export function stage(
  root: string,
  target: string,
): { readonly version: string; readonly packages: readonly string[] } {
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  const all = workspacePackages(root);
  const apps = all.filter(({ folder }) => folder.startsWith(join(root, 'apps/')));
  const cli = apps.find(({ folder }) => basename(folder) === 'cli');
  if (cli === undefined) throw new Error('apps/cli is missing');
  const bundled = shippedPackages(all, apps).filter((each) => each !== cli);
  const { optionalDependencies = {} } = readManifest(root);

  copyFiles(cli, target);
  writeManifest(target, releaseManifest({ cli, bundled, optionalDependencies }));
  for (const name of ['LICENSE', 'NOTICE', 'README.md']) {
    if (existsSync(join(root, name))) cpSync(join(root, name), join(target, name));
  }
  for (const each of bundled) {
    const folder = join(target, 'node_modules', each.manifest.name);
    copyFiles(each, folder);
    writeManifest(folder, bundledManifest(each.manifest));
  }
  return { version: cli.manifest.version, packages: bundled.map(({ manifest }) => manifest.name) };
}

/** What a package's `files` names (compiled code, and assets such as .cedar or .wasm), without tests and leftovers. */
function copyFiles({ folder, manifest }: WorkspacePackage, target: string): void {
  for (const pattern of manifest.files ?? []) {
    if (/^(\.\/)?src(\/|$)/.test(pattern)) throw new Error(`${manifest.name} lists sources in files: ${pattern}`);
    const found = globSync(pattern, { cwd: folder });
    if (found.length === 0) throw new Error(`${manifest.name} lists ${pattern} in files, and there is none`);
    for (const file of found) {
      cpSync(join(folder, file), join(target, file), { recursive: true, filter: (path) => !isLeftover(path) });
    }
  }
}

function isLeftover(path: string): boolean {
  return /\.tsbuildinfo$|\.test\.(d\.ts|js)$/.test(path);
}

function writeManifest(folder: string, manifest: object): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
}
