import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as afterOthers } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { stampOf } from './list-directory.ts';
import { createStillness, type Stillness } from './stillness.ts';
import type { Remembered, TreeMemory } from './tree-memory.ts';

let base: string;
let stillness: Stillness;

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'palyra-still-')));
  stillness = createStillness(() => false);
});

afterEach(() => {
  stillness.close();
  rmSync(base, { recursive: true });
});

const LOOK = { below: [], sightings: [], isGitDirectory: false, isGitTarget: false };

/** As many as are worth it. */
const DIRECTORIES = ['a', 'a/b', ...Array.from({ length: 40 }, (_, index) => `d${index}`)];

/** As a scan leaves it that found everything as it had been. */
function treeOf(name: string): TreeMemory {
  const top = join(base, name);
  const paths = [top, ...DIRECTORIES.map((each) => join(top, each))];
  for (const path of paths) mkdirSync(path, { recursive: true });
  const unit = { directories: new Map(), marks: [], bulk: [], isWhole: true, quietWalks: 0, watch: undefined };
  const memory = { units: new Map([[top, unit]]), walked: new Set([top]), entries: new Map() };
  remember(memory);
  return memory;
}

/** Another quiet scan. */
function remember(memory: TreeMemory): void {
  for (const [top, unit] of memory.units) {
    const paths =
      unit.directories.size > 0 ? [...unit.directories.keys()] : [top, ...DIRECTORIES.map((each) => join(top, each))];
    const found = paths.map(
      (path) => [path, { stamp: stampOf(path), lookedAtMs: 0, look: LOOK } as Remembered] as const,
    );
    memory.units.set(top, { ...unit, directories: new Map(found), quietWalks: unit.quietWalks + 4 });
  }
}

/** Looked at and found quiet until it is watched. */
async function watched(memory: TreeMemory): Promise<void> {
  while (!(await isStill(memory))) {
    stillness.scanned(memory, await stillness.look(memory));
    stillness.idle();
    await afterOthers();
  }
}

const isStill = async (memory: TreeMemory) => (await stillness.look(memory)).tops.size > 0;

describe('a tree', () => {
  it('is still when nothing happened in it, however often it is asked', async () => {
    const memory = treeOf('one');
    expect(await isStill(memory)).toBe(false);
    await watched(memory);
    expect([await isStill(memory), await isStill(memory)]).toEqual([true, true]);
  });

  it.each<readonly [string, (path: string) => void]>([
    ['a directory was made', (path) => mkdirSync(join(path, 'a/b/objects'))],
    ['a file was written', (path) => writeFileSync(join(path, 'a/b/config'), '')],
    ['a directory was renamed', (path) => renameSync(join(path, 'a/b'), join(path, 'a/c'))],
    ['it was exchanged as a whole', (path) => exchange(path)],
  ])('is not, when %s', async (_, act) => {
    const memory = treeOf('one');
    await watched(memory);
    act(join(base, 'one'));
    expect(await isStill(memory)).toBe(false);
    expect(await isStill(memory)).toBe(false);
  });

  it('is, when something happened in another', async () => {
    const [one, other] = [treeOf('one'), treeOf('other')];
    await watched(one);
    await watched(other);
    writeFileSync(join(base, 'other/a/x'), '');
    expect([await isStill(one), await isStill(other)]).toEqual([true, false]);
  });

  it('is not, when so much happened in another that events of its own may have been dropped', async () => {
    const [one, other] = [treeOf('one'), treeOf('other')];
    await watched(one);
    await watched(other);
    for (let each = 0; each < 2000; each += 1) writeFileSync(join(base, `other/a/${each}`), '');
    expect([await isStill(one), await isStill(other)]).toEqual([false, false]);
    // It was gone through, and is watched all along.
    stillness.scanned(one, await stillness.look(one));
    expect(await isStill(one)).toBe(true);
  });

  it('is not, when its watch has ended, although it was found as it had been since', async () => {
    const memory = treeOf('one');
    await watched(memory);
    for (const { watch } of memory.units.values()) watch?.close();
    stillness.scanned(memory, await stillness.look(memory));
    expect(await isStill(memory)).toBe(false);
  });

  it('is not, when something happened while it was gone through', async () => {
    const memory = treeOf('one');
    await watched(memory);
    const looked = await stillness.look(memory);
    mkdirSync(join(base, 'one/a/b/refs'));
    stillness.scanned(memory, looked);
    expect(await isStill(memory)).toBe(false);
  });

  it('is not, when it was being watched only while it was gone through', async () => {
    const memory = treeOf('one');
    stillness.scanned(memory, await stillness.look(memory));
    const looked = await stillness.look(memory);
    stillness.idle();
    for (let turn = 0; turn < 20; turn += 1) await afterOthers();
    stillness.scanned(memory, looked);
    expect(await isStill(memory)).toBe(false);
    stillness.scanned(memory, await stillness.look(memory));
    expect(await isStill(memory)).toBe(true);
  });

  it('is not, when another scan has left something else in its place', async () => {
    const memory = treeOf('one');
    await watched(memory);
    for (const [top, unit] of memory.units) {
      const directories = new Map([...unit.directories].filter(([path]) => path === top));
      memory.units.set(top, { ...unit, directories, isWhole: false });
    }
    expect(await isStill(memory)).toBe(false);
  });

  it('is not, when a directory of it is another one', async () => {
    const memory = treeOf('one');
    await watched(memory);
    rmSync(join(base, 'one/a/b'), { recursive: true });
    mkdirSync(join(base, 'one/a/b'));
    remember(memory);
    stillness.scanned(memory, await stillness.look(memory));
    mkdirSync(join(base, 'one/a/b/refs'));
    expect(await isStill(memory)).toBe(false);
  });
});

function exchange(path: string): void {
  renameSync(path, `${path}-old`);
  mkdirSync(path);
}
