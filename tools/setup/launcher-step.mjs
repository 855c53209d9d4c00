import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findExecutable } from './find-executable.mjs';
import { runLogged } from './run-logged.mjs';
import { SetupError } from './setup-error.mjs';

const SOURCES = 'packages/sandbox/native';
/** Each from the C files of one directory: what starts tools, and what agents run before theirs. */
const PROGRAMS = [
  { name: 'palyra-launcher', sources: SOURCES },
  { name: 'palyra-hook', sources: `${SOURCES}/hook` },
];

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
    const { directory, stamp } = placesIn(root);
    if (PROGRAMS.some(({ name }) => !existsSync(join(directory, name))))
      return { kind: 'work', why: 'it is not compiled yet' };
    if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== digestOf(root))
      return { kind: 'work', why: 'its sources changed' };
    return { kind: 'ready', detail: 'compiled, static' };
  },

  async work({ root, log, onChild }) {
    const { directory, stamp } = placesIn(root);
    const compiler = findExecutable('cc');
    if (compiler === undefined) {
      throw new SetupError({
        code: 'setup.no_compiler',
        message: 'there is no C compiler, and without the launcher nothing runs in a sandbox',
        fix: 'apt-get install gcc libc6-dev',
      });
    }
    mkdirSync(directory, { recursive: true });
    for (const { name, sources } of PROGRAMS) {
      const program = join(directory, name);
      const unfinished = `${program}.${process.pid}`;
      const { ok, tail } = await runLogged({
        argv: [compiler, ...COMPILER_FLAGS, ...LINKER_FLAGS, ...sourcesIn(root, sources), '-o', unfinished],
        cwd: root,
        log,
        onChild,
        onSignal: 'stop',
      });
      if (!ok) {
        throw new SetupError({
          code: 'setup.compile_failed',
          message: `${name} does not compile; the compiler's whole output is in ${log}`,
          fix: 'look at the lines above',
          output: tail,
        });
      }
      // At once: a launcher that is running keeps its file, and nobody starts half a one.
      renameSync(unfinished, program);
    }
    writeFileSync(stamp, digestOf(root));
    return 'compiled';
  },
};

/** @param {string} root */
function placesIn(root) {
  const directory = join(root, SOURCES, 'build', `${process.platform}-${process.arch}`);
  return { directory, stamp: join(directory, 'stamp') };
}

/**
 * @param {string} root
 * @param {string} directory
 */
function sourcesIn(root, directory) {
  return readdirSync(join(root, directory))
    .filter((name) => name.endsWith('.c'))
    .sort()
    .map((name) => join(directory, name));
}

/** @param {string} root */
function digestOf(root) {
  const hash = createHash('sha256').update([...COMPILER_FLAGS, ...LINKER_FLAGS].join(' '));
  for (const { sources } of PROGRAMS) {
    const names = readdirSync(join(root, sources)).filter((name) => /\.[ch]$/.test(name));
    for (const name of names.sort()) hash.update(`\0${name}\0`).update(readFileSync(join(root, sources, name)));
  }
  return hash.digest('hex');
}
