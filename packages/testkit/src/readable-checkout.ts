import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, constants, copyFile, link, mkdir, readdir, readFile, rm, stat, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { copyTree } from './copy-tree.ts';

/** Test code needs vitest, which is large, and never runs as the ordinary user; its sources but for tests are copied all the same. */
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
  await copyTree(checkout, target, { paths: workspaces, without: ['dist', 'node_modules', '*.test.ts'] });
  await openToOthers(target);
  const whole = outermost(modules);
  if (await linkModules(checkout, target, whole)) return;
  await copyTree(checkout, target, { paths: whole, without: FOR_EDITORS });
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

/** What lies in another one comes along with it. */
function outermost(modules: ReadonlySet<string>): string[] {
  return [...modules].filter((each) => !ancestorsOf(each).some((above) => modules.has(above)));
}

function ancestorsOf(path: string): string[] {
  const above = dirname(path);
  return above === '.' ? [] : [above, ...ancestorsOf(above)];
}

/** For `find`: what a copy would not be, for that is ours, open to everybody, and for nobody else to change. */
const UNLIKE_A_COPY = `! -type l ( ! -user ${process.getuid?.()} -o -perm /022 -o ! -perm -004 -o -type d ! -perm -005 )`;

/**
 * A second name for each file takes a seventh of the CPU of a copy, which is most of making this checkout. False when they
 * cannot be: a link shares owner and mode with the original, which are not ours to change.
 */
export async function linkModules(checkout: string, target: string, modules: readonly string[]): Promise<boolean> {
  const run = promisify(execFile);
  const others = await run('find', [...modules, ...UNLIKE_A_COPY.split(' '), '-print', '-quit'], { cwd: checkout });
  if (others.stdout !== '') return false;
  try {
    await run('cp', ['-al', '--parents', '--', ...modules, target], { cwd: checkout });
    // The directories that they lie in were made like the originals, and were not looked at.
    for (const above of new Set(modules.flatMap(ancestorsOf))) await chmod(join(target, above), 0o755);
    return true;
  } catch {
    // Another file system.
    await Promise.all(modules.map((each) => rm(join(target, each), { recursive: true, force: true })));
    return false;
  }
}

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
