import { execFileSync } from 'node:child_process';
import {
  accessSync,
  chownSync,
  constants,
  existsSync,
  mkdirSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, dirname, join } from 'node:path';

export const SYSTEM_PATH = '/usr/local/bin:/usr/bin:/bin';
/** In each file that nobody may see. */
export const SECRET = 'everyday-secret-token';

/**
 * Makes a developer's home of an empty one: three tool managers, and secrets beside them. Returns the PATH that its owner
 * works with. What is large is linked, not copied, so nothing of it may be written or given away: it is the same file as
 * the machine's own.
 */
export function fillHome(home: string, ownerUid: number): string {
  // The owner is not always who makes it.
  const before = process.umask(0o022);
  try {
    const own = [addNode(home), addPython(home), addRust(home)];
    addSecrets(home, ownerUid);
    return [...own, SYSTEM_PATH].join(delimiter);
  } finally {
    process.umask(before);
  }
}

/** As nvm does it: each version with its own npm. */
export function addNode(home: string): string {
  const version = join(home, '.nvm/versions/node', process.version);
  const bin = join(version, 'bin');
  const modules = join(version, 'lib/node_modules');
  mkdirSync(bin, { recursive: true });
  mkdirSync(modules, { recursive: true });
  linkTree(process.execPath, join(bin, 'node'));

  const npm = dirname(dirname(realpathSync(findProgram('npm'))));
  // Debian's own package shares its modules with others; then it is of use only where it is.
  if (existsSync(join(npm, 'node_modules'))) linkTree(npm, join(modules, 'npm'));
  else symlinkSync(npm, join(modules, 'npm'));
  for (const name of ['npm', 'npx']) symlinkSync(`../lib/node_modules/npm/bin/${name}-cli.js`, join(bin, name));
  return bin;
}

/** As pyenv does it: a shim asks which version, and starts it from below PYENV_ROOT. */
function addPython(home: string): string {
  const root = join(home, '.pyenv');
  const version = execFileSync('/usr/bin/python3', ['-c', 'import platform; print(platform.python_version())'])
    .toString()
    .trim();
  const bin = join(root, 'versions', version, 'bin');
  const shims = join(root, 'shims');
  mkdirSync(bin, { recursive: true });
  mkdirSync(shims);
  writeFileSync(join(root, 'version'), `${version}\n`);
  for (const name of ['python3', 'python']) {
    symlinkSync(realpathSync('/usr/bin/python3'), join(bin, name));
    const shim = `exec "$PYENV_ROOT/versions/$(cat "$PYENV_ROOT/version")/bin/${name}" "$@"`;
    writeFileSync(join(shims, name), `#!/bin/sh\n${shim}\n`, { mode: 0o755 });
  }
  return shims;
}

/** As rustup does it: proxies in one place, the toolchain below RUSTUP_HOME. */
function addRust(home: string): string {
  const bin = join(home, '.cargo/bin');
  const toolchain = join(home, '.rustup/toolchains/stable');
  mkdirSync(bin, { recursive: true });
  mkdirSync(join(toolchain, 'bin'), { recursive: true });
  // A rustup that is asked by name wants its own home.
  const sysroot = execFileSync(findProgram('rustc'), ['--print', 'sysroot']).toString().trim();
  const isSystems = sysroot === '/usr';
  if (!isSystems) linkTree(join(sysroot, 'lib'), join(toolchain, 'lib'));
  for (const name of ['cargo', 'rustc', 'rustdoc']) {
    const program = join(sysroot, 'bin', name);
    if (isSystems) symlinkSync(program, join(toolchain, 'bin', name));
    else linkTree(program, join(toolchain, 'bin', name));
    const proxy = `export PATH="$RUSTUP_HOME/toolchains/stable/bin:$PATH"\nexec ${name} "$@"`;
    writeFileSync(join(bin, name), `#!/bin/sh\n${proxy}\n`, { mode: 0o755 });
  }
  return bin;
}

function addSecrets(home: string, ownerUid: number): void {
  for (const path of ['.ssh/id_ed25519', '.npmrc', '.cargo/credentials.toml', '.config/gh/hosts.yml', '.netrc']) {
    mkdirSync(dirname(join(home, path)), { recursive: true, mode: 0o700 });
    writeFileSync(join(home, path), `token = ${SECRET}\n`, { mode: 0o600 });
    chownSync(join(home, path), ownerUid, ownerUid);
  }
}

/** A second name for each file; a copy where that is another file system or forbidden. */
function linkTree(source: string, target: string): void {
  try {
    execFileSync('cp', ['-a', '-l', source, target], { stdio: 'pipe' });
  } catch {
    execFileSync('rm', ['-rf', target]);
    execFileSync('cp', ['-a', source, target]);
  }
}

function findProgram(name: string): string {
  const found = (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((directory) => join(directory, name))
    .find(isExecutable);
  if (found === undefined) throw new Error(`There is no ${name}: run tools/setup.mjs.`);
  return found;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
