import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type BundleInput, bundledProgram, bundledThread, openBundle } from './bundled-program.ts';
import { sha256Hex } from './digest.ts';

const SOURCE = 'apps/x/src/main.ts';
const WRITTEN = 'export const a = 1;\n';

let checkout = '';
const place = (path: string) => join(checkout, path);

beforeEach(() => {
  checkout = mkdtempSync(join(tmpdir(), 'palyra-bundle-'));
  mkdirSync(place('apps/x/src'), { recursive: true });
  writeFileSync(place(SOURCE), WRITTEN);
  mkdirSync(place('.cache/bundled/3'), { recursive: true });
  for (const directory of ['.cache/bundled', '.cache/bundled/3']) chmodSync(place(directory), 0o700);
  writeManifest({});
});
afterEach(() => rmSync(checkout, { recursive: true }));

function inputNow(digest?: string): BundleInput {
  const { size, mtimeMs } = statSync(place(SOURCE));
  return digest === undefined ? [SOURCE, size, mtimeMs] : [SOURCE, size, mtimeMs, digest];
}

function writeManifest(other: Readonly<Record<string, unknown>>): void {
  const programs = { [SOURCE]: 'apps~x~src~main.js' };
  const manifest = { format: 1, maker: 'm', generation: '3', programs, inputs: [inputNow()], ...other };
  writeFileSync(place('.cache/bundled/manifest.json'), JSON.stringify(manifest), { mode: 0o600 });
}

const found = () => openBundle(checkout)?.fileOf(SOURCE);

test('a bundle of these sources is taken, and only for what is in it', () => {
  expect(found()).toBe(place('.cache/bundled/3/apps~x~src~main.js'));
  expect(openBundle(checkout)?.fileOf('apps/x/src/other.ts')).toBeUndefined();
  expect(openBundle(checkout)?.fileOf('__proto__')).toBeUndefined();
});

describe('a source that is not as it was bundled is right, and the bundle is not', () => {
  test('with another size', () => {
    writeFileSync(place(SOURCE), `${WRITTEN}export const b = 2;\n`);
    const { mtimeMs } = statSync(place(SOURCE));
    writeManifest({ inputs: [[SOURCE, WRITTEN.length, mtimeMs]] });
    expect(found()).toBeUndefined();
  });

  test('with another time', () => {
    const { mtimeMs } = statSync(place(SOURCE));
    utimesSync(place(SOURCE), mtimeMs / 1000 + 1, mtimeMs / 1000 + 1);
    expect(found()).toBeUndefined();
  });

  test('gone', () => {
    rmSync(place(SOURCE));
    expect(found()).toBeUndefined();
  });

  test('edited in the very moment in which it was bundled', () => {
    const { mtimeMs } = statSync(place(SOURCE));
    writeManifest({ inputs: [inputNow(sha256Hex(WRITTEN))] });
    expect(found()).toBeDefined();
    writeFileSync(place(SOURCE), WRITTEN.replace('1', '2'));
    utimesSync(place(SOURCE), mtimeMs / 1000, mtimeMs / 1000);
    expect(found()).toBeUndefined();
  });
});

test.for<[string, Readonly<Record<string, unknown>>]>([
  ['of another format', { format: 2 }],
  ['without programs', { programs: {} }],
  ['without inputs', { inputs: [] }],
  ['with inputs that are none', { inputs: [null] }],
  ['that leads out of its directory', { generation: '../3' }],
  ['whose file leads out of it', { programs: { [SOURCE]: '../../../evil.js' } }],
])('a manifest %s is none', ([, other]) => {
  writeManifest(other);
  expect(found()).toBeUndefined();
});

test('half a manifest is none', () => {
  writeFileSync(place('.cache/bundled/manifest.json'), '{"format":1,"maker"');
  expect(found()).toBeUndefined();
});

test('a release, a source of somebody else and what is not bundled are loaded from where they are', () => {
  const release = new URL('./bundled-program.js', import.meta.url);
  for (const url of [release.href, pathToFileURL(place(SOURCE)).href, 'data:text/javascript,1', import.meta.url]) {
    expect(bundledProgram(url)).toBeUndefined();
  }
});

test('a thread that loads something beside the bundle is loaded from its source, too', () => {
  const entry = new URL('../../storage/src/sqlite/writer-thread.ts', import.meta.url);
  const loads = [import.meta.url];
  expect(bundledThread(entry, loads)).toEqual({ entry, loads });
});
