/**
 * T-40: another user of the machine, or an agent in one of the operator's groups, points Palyra at a database of its
 * own, where everything is approved already, by writing palyra.toml or by putting one in the home's place.
 */
import { chmodSync, chownSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkHome, ensureHome, homeLayout, loadConfig, readEnvironment } from '@palyra/config';
import { afterEach, beforeEach, expect, test } from 'vitest';

const ATTACKER = '[storage]\nurl = "postgres://attacker.example/approved"\n';
const ANOTHER_UID = 54_321;

let directory = '';

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'palyra-t40-'));
});

afterEach(() => rmSync(directory, { recursive: true }));

function load(root = directory) {
  return loadConfig({ home: homeLayout(root), environment: readEnvironment({}) });
}

function plant(mode: number): string {
  const file = join(directory, 'palyra.toml');
  writeFileSync(file, ATTACKER);
  chmodSync(file, mode);
  return file;
}

test.each(['620', '602', '660', '666', '777'])(
  'a palyra.toml with mode %s that others could have written is not used',
  (mode) => {
    plant(Number.parseInt(mode, 8));
    expect(() => load()).toThrow(
      expect.objectContaining({ code: 'config.unsafe_permissions', fix: expect.stringContaining('chmod go-w') }),
    );
  },
);

test('a link in the home does not hide that its target is open to others', () => {
  const elsewhere = join(directory, 'elsewhere');
  writeFileSync(elsewhere, ATTACKER);
  chmodSync(elsewhere, 0o666);
  symlinkSync(elsewhere, join(directory, 'palyra.toml'));
  expect(() => load()).toThrow(expect.objectContaining({ code: 'config.unsafe_permissions' }));
});

// Only root can give a file away; the judgement itself is unit-tested for every uid in ownership.test.ts.
test.runIf(process.geteuid?.() === 0)('a palyra.toml or a home of another user is not used [needs: root]', () => {
  const file = plant(0o600);
  chownSync(file, ANOTHER_UID, ANOTHER_UID);
  expect(() => load()).toThrow(expect.objectContaining({ code: 'config.unsafe_permissions' }));

  chownSync(file, 0, 0);
  chownSync(directory, ANOTHER_UID, ANOTHER_UID);
  expect(() => load()).toThrow(expect.objectContaining({ code: 'config.unsafe_home' }));
});

test('a home that others can enter or that is a link is neither used nor completed', () => {
  plant(0o600);
  chmodSync(directory, 0o770);
  expect(() => load()).toThrow(expect.objectContaining({ code: 'config.unsafe_home' }));
  expect(() => ensureHome(homeLayout(directory))).toThrow(expect.objectContaining({ code: 'config.unsafe_home' }));

  chmodSync(directory, 0o700);
  const link = join(directory, 'link');
  symlinkSync(directory, link);
  expect(() => load(link)).toThrow(expect.objectContaining({ code: 'config.unsafe_home' }));
});

test('the operator’s own file in a home of its own is used: the refusals above are not the only answer', () => {
  plant(0o600);
  expect(checkHome(homeLayout(directory))).toBe('safe');
  expect(load().sources.get('storage.url')).toBe('file');
});
