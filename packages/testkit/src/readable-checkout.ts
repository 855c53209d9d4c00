import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants, copyFile, link, mkdir, readdir, readFile, stat, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { copyTree } from './copy-tree.ts';

/** Test code needs vitest, which is large, and never runs as the ordinary user; its own sources are copied all the same. */
const WITHOUT_DEPENDENCIES = ['@palyra/testkit'];

interface Manifest {
  readonly name: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/**
 * Copies what runs our packages from source into `target`, readable by everybody: packages and apps, the third-party
 * modules they need at run time, and the running Node as `bin/node`.
 */
export async function copyCheckout(checkout: string, target: string): Promise<void> {
  await mkdir(join(target, 'node_modules'), { recursive: true });
  await mkdir(join(target, 'bin'));
  await linkOrCopy(process.execPath, join(target, 'bin/node'));
  await copyFile(join(checkout, 'package.json'), join(target, 'package.json'));

  const modules = new Set<string>();
  const workspaces = await workspaceDirectories(checkout);
  for (const directory of workspaces) {
    const manifest = await readManifest(join(checkout, directory));
    await linkModule(target, manifest.name, directory);
    if (!WITHOUT_DEPENDENCIES.includes(manifest.name)) await collectModules(checkout, directory, modules);
  }
  await copyTree(checkout, target, { paths: workspaces, without: ['dist', 'node_modules'] });
  await copyTree(checkout, target, { paths: [...modules], without: FOR_EDITORS });
  await openToOthers(target);
}

/** Adds one more script, with the files beside it: scripts of tests are not part of any package. */
export async function copyIntoCheckout(checkout: string, target: string, path: string): Promise<void> {
  if (existsSync(join(target, path))) return;
  const directory = join(target, dirname(path));
  await mkdir(directory, { recursive: true });
  for (const entry of await readdir(join(checkout, dirname(path)), { withFileTypes: true })) {
    if (entry.isFile()) await copyFile(join(entry.parentPath, entry.name), join(directory, entry.name));
  }
  await openToOthers(join(target, path.split('/', 1)[0] ?? ''));
}

async function workspaceDirectories(checkout: string): Promise<string[]> {
  const found: string[] = [];
  for (const parent of ['packages', 'apps']) {
    for (const name of await readdir(join(checkout, parent))) {
      if (existsSync(join(checkout, parent, name, 'package.json'))) found.push(join(parent, name));
    }
  }
  return found;
}

/** What only editors and debuggers read: half of the files of a module. */
const FOR_EDITORS = ['*.d.ts', '*.d.mts', '*.d.cts', '*.map', '*.md'];

async function linkModule(target: string, name: string, directory: string): Promise<void> {
  const place = join(target, 'node_modules', name);
  await mkdir(dirname(place), { recursive: true });
  await symlink(join(target, directory), place);
}

/** Follows dependencies the way Node looks them up, from the directory of whoever asks towards the root. */
async function collectModules(checkout: string, from: string, found: Set<string>): Promise<void> {
  const { dependencies, optionalDependencies } = await readManifest(join(checkout, from));
  for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
    const directory = lookUp(checkout, from, name);
    // An optional dependency for another platform is not installed; our own packages are linked, not copied.
    if (directory === undefined || name.startsWith('@palyra/') || found.has(directory)) continue;
    found.add(directory);
    await collectModules(checkout, directory, found);
  }
}

function lookUp(checkout: string, from: string, name: string): string | undefined {
  for (let place = from; ; place = dirname(place)) {
    const candidate = join(place, 'node_modules', name);
    if (existsSync(join(checkout, candidate, 'package.json'))) return candidate;
    if (place === '.') return undefined;
  }
}

async function readManifest(directory: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(directory, 'package.json'), 'utf8'));
}

/** Node is over 100 MB: a second name for the same file costs nothing, where both are on one file system. */
async function linkOrCopy(source: string, target: string): Promise<void> {
  try {
    // A link shares its mode with the original, which is not ours to change.
    if (((await stat(source)).mode & 0o005) !== 0o005) throw new Error('closed to others');
    await link(source, target);
  } catch {
    await copyFile(source, target, constants.COPYFILE_FICLONE);
  }
}

/** The umask of whoever made the checkout may have closed it to others. Links are left alone. */
async function openToOthers(target: string): Promise<void> {
  await promisify(execFile)('chmod', ['-R', 'u=rwX,go=rX', target]);
}
