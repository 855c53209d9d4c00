import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findLauncher } from '../../packages/sandbox/src/launcher/find-launcher.ts';
import { type ElfFunction, readElf } from './elf-file.ts';

const BUILT = dirname(findLauncher() ?? '');
const NATIVE = join(import.meta.dirname, '../../packages/sandbox/native');

const launcher = readElf(join(BUILT, 'palyra-launcher'));
const hook = readElf(join(BUILT, 'palyra-hook'));
const attacker = readElf(join(BUILT, 'palyra-attacker'));
const stage = readElf(join(BUILT, 'palyra-stage'));

const EVERYWHERE = { isStatic: true, stack: 'rw', writableCode: [] };
/** What cannot be anywhere has no tables to hold, and begins sooner (ADR 0027); only x64 can without relocating. */
const isAnywhere = process.arch === 'x64';

/** The library has guards of its own, whatever we compile with: what we wrote is looked at. */
function ourFunctions(): readonly ElfFunction[] {
  const files = globSync(`${NATIVE}/*.[ch]`);
  const sources = new Set(files.map((file) => basename(file)));
  const headers = files.filter((file) => file.endsWith('.h')).map((file) => readFileSync(file, 'utf8'));
  const declared = new Set(headers.flatMap((text) => [...text.matchAll(/\b(\w+)\(/g)].map(([, name]) => name)));
  return launcher.functions.filter(({ name, file }) => (file === undefined ? declared.has(name) : sources.has(file)));
}

const GUARDED = 1 / 8;
/** `orq $0, (%rsp)` */
const TOUCHES_A_PAGE = Buffer.from('48830c2400', 'hex');

const shareOf = (functions: readonly ElfFunction[], isOne: (each: ElfFunction) => boolean) =>
  functions.filter(isOne).length / functions.length;

test('the launcher is static, anywhere, with nothing to write where it jumps to and nothing to run where it writes', () => {
  expect(launcher).toMatchObject({ ...EVERYWHERE, isPositionIndependent: true, hasRelro: true, bindsNow: true });
});

test('so is the attacker', () => {
  expect(attacker).toMatchObject({ ...EVERYWHERE, isPositionIndependent: true, hasRelro: true, bindsNow: true });
});

test('so is the hook, but for tables that it has not', () => {
  expect(hook).toMatchObject({ ...EVERYWHERE, isPositionIndependent: isAnywhere });
});

test('the stage is static, and runs nothing that it writes', () => {
  expect(stage).toMatchObject({ ...EVERYWHERE, isPositionIndependent: false });
});

describe('what overflows in a function is noticed', () => {
  test.each([
    ['the launcher', ourFunctions()],
    ['the hook', hook.functions],
    ['the stage', stage.functions],
  ] as const)('by a guard on the stack, in %s', (_name, functions) => {
    // In each that hands out the address of a variable, not only in the few with a text of their own.
    expect(shareOf(functions, ({ calls }) => calls.has('__stack_chk_fail'))).toBeGreaterThan(GUARDED);
  });

  test('by the library, in the launcher', () => {
    const called = new Set(ourFunctions().flatMap(({ calls }) => [...calls]));
    expect([...called]).toEqual(expect.arrayContaining(['__snprintf_chk', '__memcpy_chk', '__explicit_bzero_chk']));
  });

  // Elsewhere a guard is as long as the longest of our frames.
  test.each(process.arch === 'x64' ? ['the launcher', 'the stage'] : [])(
    'by touching each page of its frame, in %s',
    (name) => {
      const functions = name === 'the stage' ? stage.functions : ourFunctions();
      expect(functions.some(({ code }) => code.includes(TOUCHES_A_PAGE))).toBe(true);
    },
  );
});
