import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findExecutable } from './find-executable.mjs';
import { runLogged } from './run-logged.mjs';
import { SetupError } from './setup-error.mjs';

const SOURCES = 'packages/sandbox/native';

/** Every warning is an error, and what a compiler can do against memory faults is switched on. */
const COMPILER_FLAGS = [
  '-std=c17',
  '-D_GNU_SOURCE',
  '-O2',
  '-Wall',
  '-Wextra',
  '-Werror',
  '-Wshadow',
  '-fstack-protector-strong',
  '-fstack-clash-protection',
  '-D_FORTIFY_SOURCE=2',
];
/** Static: it starts before anything is mounted and runs inside every sandbox, where there may be no libraries. */
const LINKER_FLAGS = ['-static-pie', '-Wl,-z,relro,-z,now,-z,noexecstack'];

/** @type {import('../setup.mjs').Step} */
export const launcher = {
  name: 'launcher',

  async probe({ root }) {
    if (process.platform !== 'linux') return { kind: 'ready', detail: `none needed on ${process.platform}` };
    const { program, stamp } = placesIn(root);
    if (!existsSync(program)) return { kind: 'work', why: 'it is not compiled yet' };
    if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== digestOf(root))
      return { kind: 'work', why: 'its sources changed' };
    return { kind: 'ready', detail: 'compiled, static' };
  },

  async work({ root, log, onChild }) {
    const { directory, program, stamp } = placesIn(root);
    const compiler = findExecutable('cc');
    if (compiler === undefined) {
      throw new SetupError({
        code: 'setup.no_compiler',
        message: 'there is no C compiler, and without the launcher nothing runs in a sandbox',
        fix: 'apt-get install gcc libc6-dev',
      });
    }
    mkdirSync(directory, { recursive: true });
    const unfinished = `${program}.${process.pid}`;
    const { ok, tail } = await runLogged({
      argv: [compiler, ...COMPILER_FLAGS, ...LINKER_FLAGS, ...sourcesIn(root), '-o', unfinished],
      cwd: root,
      log,
      onChild,
      onSignal: 'stop',
    });
    if (!ok) {
      throw new SetupError({
        code: 'setup.compile_failed',
        message: `the launcher does not compile; the compiler's whole output is in ${log}`,
        fix: 'look at the lines above',
        output: tail,
      });
    }
    // At once: a launcher that is running keeps its file, and nobody starts half a one.
    renameSync(unfinished, program);
    writeFileSync(stamp, digestOf(root));
    return 'compiled';
  },
};

/** @param {string} root */
function placesIn(root) {
  const directory = join(root, SOURCES, 'build', `${process.platform}-${process.arch}`);
  return { directory, program: join(directory, 'palyra-launcher'), stamp: join(directory, 'stamp') };
}

/** @param {string} root */
function sourcesIn(root) {
  return readdirSync(join(root, SOURCES))
    .filter((name) => name.endsWith('.c'))
    .sort()
    .map((name) => join(SOURCES, name));
}

/** @param {string} root */
function digestOf(root) {
  const hash = createHash('sha256').update([...COMPILER_FLAGS, ...LINKER_FLAGS].join(' '));
  const names = readdirSync(join(root, SOURCES)).filter((name) => /\.[ch]$/.test(name));
  for (const name of names.sort()) hash.update(`\0${name}\0`).update(readFileSync(join(root, SOURCES, name)));
  return hash.digest('hex');
}
