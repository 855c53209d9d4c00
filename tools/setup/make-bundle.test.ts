import {
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sha256Hex } from '../../packages/primitives/src/digest.ts';
import { inputsOf, installedIn, makePrivate } from './make-bundle.ts';

const SOURCE = 'packages/x/src/y.ts';
const INSTALLED = 'node_modules/.package-lock.json';
const OLD_S = 1_700_000_000;
const READ = sha256Hex('1\n');

let checkout = '';
const place = (path: string) => join(checkout, path);

beforeAll(() => {
  checkout = mkdtempSync(join(tmpdir(), 'palyra-inputs-'));
  for (const directory of ['packages/x/src', 'node_modules']) mkdirSync(place(directory), { recursive: true });
  for (const path of [SOURCE, INSTALLED]) writeOld(path, '1\n');
});
afterAll(() => rmSync(checkout, { recursive: true }));

/** As an archive, a backup or `cp -p` leaves it. */
function writeOld(path: string, text: string): void {
  writeFileSync(place(path), text);
  utimesSync(place(path), OLD_S, OLD_S);
}

const changedAt = () => statSync(place(SOURCE)).ctimeMs;
const inputs = (begun: number) => inputsOf(checkout, new Map([[SOURCE, READ]]), begun);

test('what npm has installed is an input, too', () => {
  expect([...installedIn(checkout)]).toEqual([[INSTALLED, READ]]);
});

test('SECURITY: T-40 — what is put in its place while it is bundled is not taken for what was read, however old it says it is', () => {
  const sure = [[SOURCE, 2, OLD_S * 1000]];
  expect(inputs(changedAt() + 1000)).toEqual(sure);
  linkSync(place(SOURCE), place('beside'));
  expect(inputs(changedAt())).toEqual(sure);
  writeOld('other', '2\n');
  renameSync(place('other'), place(SOURCE));
  expect(inputs(changedAt())).toEqual([[SOURCE, 2, OLD_S * 1000, READ]]);
});

test('SECURITY: T-40 — a link in the place of bundles is made a directory, and what it led to is left alone', () => {
  mkdirSync(place('keys'), { mode: 0o700 });
  writeFileSync(place('keys/manifest.json'), 'mine');
  symlinkSync('keys', place('bundled'));
  makePrivate(place('bundled'));
  expect(lstatSync(place('bundled')).isDirectory()).toBe(true);
  expect([readdirSync(place('bundled')), readdirSync(place('keys'))]).toEqual([[], ['manifest.json']]);
});
