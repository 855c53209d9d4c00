import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { readSettings } from './client-files.ts';

const place = mkdtempSync(join(tmpdir(), 'palyra-settings-'));
const at = (name: string) => join(place, name);
const UNREADABLE = expect.objectContaining({ code: 'cli.file_unreadable' });

afterAll(() => rmSync(place, { recursive: true }));

test('settings are read as they are, and none are none', () => {
  writeFileSync(at('settings.json'), '\u{feff}{}\n');
  expect(readSettings(at('settings.json'))).toBe('\u{feff}{}\n');
  expect(readSettings(at('others.json'))).toBeUndefined();
  expect(readSettings(at('settings.json/below.json'))).toBeUndefined();
});

test('SECURITY: T-39 — nobody waits for a pipe, nor reads from a device', () => {
  execFileSync('mkfifo', [at('pipe')]);
  symlinkSync('/dev/zero', at('zeros'));
  symlinkSync(at('nowhere'), at('link'));
  for (const name of ['pipe', 'zeros', 'link', '.']) expect(() => readSettings(at(name))).toThrow(UNREADABLE);
});
