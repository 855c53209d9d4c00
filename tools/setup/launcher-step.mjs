import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
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
];
/** Static: it starts before anything is mounted and runs inside every sandbox, where there may be no libraries. */
const WITH_LIBRARY = ['-U_FORTIFY_SOURCE', '-D_FORTIFY_SOURCE=2', '-static-pie', '-Wl,-z,relro,-z,now,-z,noexecstack'];
/**
 * Without a C library, which takes longer to start than everything that these programs do. What their functions are guarded with
 * they take from the kernel; and a loop that copies must not be compiled into a call of itself.
 */
const WITHOUT_LIBRARY = [
  // Some compilers define it unasked, and then want the library's functions that check.
  '-U_FORTIFY_SOURCE',
  '-ffreestanding',
  '-fno-tree-loop-distribute-patterns',
  '-fno-asynchronous-unwind-tables',
  '-mstack-protector-guard=global',
  '-ffunction-sections',
  '-fdata-sections',
  '-nostdlib',
  '-Wl,--gc-sections,--build-id=none,-z,noexecstack',
];
/** Nobody would relocate them: with addresses from the linker, or so that there is nothing to relocate, which not every machine can. */
const AT_KNOWN_ADDRESSES = ['-fno-pie', '-no-pie', '-static'];
const ANYWHERE = process.arch === 'x64' ? ['-fPIE', '-static-pie', '-fvisibility=hidden'] : AT_KNOWN_ADDRESSES;

const BARE = `${SOURCES}/bare`;
/** What a hook says that was told nothing. Agents take every other end for a mishap, and go on; so one that does not work is none. */
const BLOCKED = 2;

/**
 * Each from the C files of one directory, and some of them from a few others: what starts tools, what agents run before theirs, what
 * tries to get out of a sandbox, and what becomes the tool inside one. That one last: a launcher that finds none beside it does its work, as slowly as before.
 *
 * @typedef {{ readonly flags: readonly string[], readonly with?: readonly string[], readonly more?: readonly string[] }} Way
 * @type {readonly { name: string, sources: string, ways: readonly Way[], endsWith?: number, isOptional?: true }[]}
 */
const PROGRAMS = [
  { name: 'palyra-launcher', sources: SOURCES, ways: [{ flags: WITH_LIBRARY }] },
  {
    name: 'palyra-hook',
    sources: `${SOURCES}/hook`,
    ways: [
      { with: [BARE], flags: [...WITHOUT_LIBRARY, ...ANYWHERE, `-DGUARD_EXIT=${BLOCKED}`] },
      { flags: WITH_LIBRARY },
    ],
    endsWith: BLOCKED,
  },
  { name: 'palyra-attacker', sources: `${SOURCES}/attacker`, ways: [{ flags: WITH_LIBRARY }] },
  {
    name: 'palyra-stage',
    sources: `${SOURCES}/stage`,
    ways: [
      {
        with: [BARE],
        more: ['become-tool.c', 'listener.c', 'request.c', 'texts.c', 'wire.c', 'word.c'].map((name) =>
          join(SOURCES, name),
        ),
        flags: [...WITHOUT_LIBRARY, ...AT_KNOWN_ADDRESSES],
      },
    ],
    isOptional: true,
  },
];

/** @type {import('../setup.mjs').Step} */
export const launcher = {
  name: 'launcher',

  async probe({ root }) {
    if (process.platform !== 'linux') return { kind: 'ready', detail: `none needed on ${process.platform}` };
    const { directory, stamp } = placesIn(root);
    const [made = '', triedBy] = existsSync(stamp) ? readFileSync(stamp, 'utf8').split('\n') : [];
    const [digest, ...compiled] = made.split(' ');
    if (compiled.length === 0 || compiled.some((name) => !existsSync(join(directory, name))))
      return { kind: 'work', why: 'it is not compiled yet' };
    if (digest !== digestOf(root)) return { kind: 'work', why: 'its sources changed' };
    const missing = missingFrom(compiled);
    const compiler = findExecutable('cc');
    // What one compiler cannot, another one or a newer one may.
    if (missing.length > 0 && compiler !== undefined && identityOf(compiler) !== triedBy)
      return { kind: 'work', why: `there is another compiler for ${missing.join(' and ')}` };
    return { kind: 'ready', detail: `compiled, static${whatIsMissing(compiled)}` };
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
    const compiled = [];
    // A launcher that is started meanwhile must not find one of other sources than its own.
    for (const { name, isOptional } of PROGRAMS) if (isOptional) rmSync(join(directory, name), { force: true });
    for (const { name, sources, ways, endsWith, isOptional } of PROGRAMS) {
      const program = join(directory, name);
      const unfinished = `${program}.${process.pid}`;
      let [ok, tail] = [false, ''];
      for (const { flags, with: others = [], more = [] } of ways) {
        const files = [sources, ...others].flatMap((each) => sourcesIn(root, each));
        const argv = [compiler, ...COMPILER_FLAGS, ...flags, ...files, ...more, '-o', unfinished];
        ({ ok, tail } = await runLogged({ argv, cwd: root, log, onChild, onSignal: 'stop' }));
        if (ok && !runs(unfinished, endsWith))
          [ok, tail] = [false, `it was compiled, and does not run in ${directory}`];
        if (ok) break;
      }
      if (!ok && isOptional) continue;
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
      compiled.push(name);
    }
    writeFileSync(stamp, `${[digestOf(root), ...compiled].join(' ')}\n${identityOf(compiler)}`);
    return `compiled${whatIsMissing(compiled)}`;
  },
};

/**
 * @param {string} program
 * @param {number | undefined} endsWith its exit code when it is told nothing, where that is known
 */
function runs(program, endsWith) {
  if (endsWith === undefined) return true;
  return spawnSync(program, { stdio: 'ignore', timeout: 10_000 }).status === endsWith;
}

/** @param {readonly string[]} compiled */
function whatIsMissing(compiled) {
  const missing = missingFrom(compiled);
  return missing.length === 0 ? '' : `; without ${missing.join(' and ')}, so sandboxes start more slowly`;
}

/** @param {readonly string[]} compiled */
function missingFrom(compiled) {
  return PROGRAMS.filter(({ name }) => !compiled.includes(name)).map(({ name }) => name);
}

/**
 * Without starting it, which a probe does not.
 * @param {string} compiler
 */
function identityOf(compiler) {
  const { size, mtimeMs } = statSync(compiler);
  return `${realpathSync(compiler)} ${size} ${mtimeMs}`;
}

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
  const hash = createHash('sha256').update(JSON.stringify([COMPILER_FLAGS, PROGRAMS]));
  for (const sources of [BARE, ...PROGRAMS.map((program) => program.sources)]) {
    const names = readdirSync(join(root, sources)).filter((name) => /\.[ch]$/.test(name));
    for (const name of names.sort()) hash.update(`\0${name}\0`).update(readFileSync(join(root, sources, name)));
  }
  return hash.digest('hex');
}
