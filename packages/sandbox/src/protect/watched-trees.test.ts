import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as afterOthers } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { resolvePath } from '../survey/survey-files.ts';
import { createProtection, type ProtectedPlace, type Protection, type Watch } from './create-protection.ts';
import { SCAN_LIMITS } from './scan-limits.ts';

let base: string;
let workspace: string;
let protection: Protection;
let place: ProtectedPlace;

/** More than a plan looks at, and enough to be watched. */
const DIRECTORIES = Array.from({ length: 60 }, (_, index) => `src/d${index}`);
const PACKAGES = Array.from({ length: 60 }, (_, index) => `node_modules/p${index}`);

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'palyra-watched-')));
  workspace = join(base, 'workspace');
  for (const path of [...DIRECTORIES, ...PACKAGES]) mkdirSync(at(path), { recursive: true });
  const realPath = (path: string) =>
    resolvePath({ realPath: (each) => (existsSync(each) ? realpathSync(each) : undefined) }, path);
  protection = createProtection({
    keptDirectory: join(base, 'kept'),
    realPath,
    home: '/nonexistent',
    now: Date.now,
    limits: { ...SCAN_LIMITS, directoriesOfPlan: 10 },
  });
  place = { roots: [workspace], gitDirectories: [], lifted: [], mounts: true };
});

afterEach(() => {
  protection.close();
  rmSync(base, { recursive: true });
});

const at = (path: string) => join(workspace, path);

async function endOf(watch: Watch): Promise<readonly string[]> {
  const changes = await watch.end();
  return changes.map(({ path, what }) => `${what} ${path.slice(workspace.length + 1)}`);
}

const quietRun = async () => endOf(await protection.begin(place));

/** What the kernel watches for this process. */
function countWatches(): number {
  const ours = readdirSync('/proc/self/fd').filter((fd) => linkOf(`/proc/self/fd/${fd}`) === 'anon_inode:inotify');
  return ours.flatMap((fd) => readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8').match(/^inotify /gm) ?? []).length;
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

/** Gone through so often that all of it is watched, and once more since. */
async function untilWatched(): Promise<void> {
  const wanted = countWatches() + DIRECTORIES.length + PACKAGES.length;
  while (countWatches() < wanted) {
    expect(await quietRun()).toEqual([]);
    await afterOthers();
  }
  await quietRun();
}

/** By the clock of the file system: only what is clearly older than a run counts as older. */
async function untilOlder(path: string): Promise<void> {
  const probe = join(base, 'probe');
  do {
    await afterOthers();
    writeFileSync(probe, '');
  } while (statSync(probe).ctimeMs - statSync(path).ctimeMs < 100);
}

describe('a tree that is watched', () => {
  it('is not taken for what a plan has seen of it, which is less', async () => {
    writeFileSync(at('src/d50/CLAUDE.md'), 'the operator says');
    await untilWatched();
    protection.plan(place);
    const watch = await protection.begin(place);
    writeFileSync(at('src/d50/code.js'), 'work');
    expect(await endOf(watch)).toEqual([]);
    expect(existsSync(at('src/d50/CLAUDE.md'))).toBe(true);
  });

  // One look is long, and keeps what is still; a shorter one begins and ends meanwhile, and finds that it is not any more.
  it('is not taken for what it was when a look began that ended later', async () => {
    mkdirSync(at('other/node_modules/few'), { recursive: true });
    await untilWatched();
    const [first, second] = [await protection.begin(place), await protection.begin(place)];
    for (let each = 0; each < 3000; each += 1) mkdirSync(at(`other/node_modules/few/${each}`));
    const firstEnd = endOf(first);
    for (let turn = 0; turn < 5; turn += 1) await afterOthers();
    writeFileSync(at('src/d7/.envrc'), 'evil');
    const third = await protection.begin(place);
    expect(await firstEnd).toEqual([]);
    expect(await endOf(second)).toEqual(['created src/d7/.envrc']);
    expect(await endOf(third)).toEqual([]);
  });

  // What was there before the one that ends first was made by the one that ends last.
  it('is older than a run only if it was so before that began', async () => {
    const repository = at('node_modules/p7');
    mkdirSync(join(repository, 'o'));
    mkdirSync(join(repository, 'hooks'));
    writeFileSync(join(repository, 'hooks/pre-commit'), 'evil', { mode: 0o755 });
    await untilOlder(join(repository, 'hooks'));
    await untilWatched();
    const long = await protection.begin(place);
    for (const name of ['objects', 'refs']) symlinkSync('o', join(repository, name));
    await untilOlder(repository);
    expect(await quietRun()).toEqual([]);
    expect(await endOf(long)).toEqual(['created node_modules/p7/hooks/pre-commit']);
  });
});
