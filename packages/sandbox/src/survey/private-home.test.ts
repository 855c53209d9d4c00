import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { PrivateHome } from '../profile.ts';
import { surveyHome } from './private-home.ts';
import { hostSurveyFiles } from './survey-files.ts';

let home = '';
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'private-home-')));
  mkdirSync(join(home, '.agent/sessions'), { recursive: true });
  mkdirSync(join(home, '.palyra'));
  writeFileSync(join(home, '.agent/login'), 'token');
  writeFileSync(join(home, '.agent/config'), 'theirs');
  writeFileSync(join(home, '.palyra/key'), 'key');
});
afterEach(() => rmSync(home, { recursive: true }));

const survey = (parts: Partial<PrivateHome>) =>
  surveyHome({
    home: { writable: [], readOnly: [], files: [], ...parts },
    operatorHome: home,
    palyraHome: join(home, '.palyra'),
    files: hostSurveyFiles,
  });

test('shows what is there, each by itself, and what lies in another one after it', () => {
  const found = survey({ writable: ['.agent/sessions', '.agent/login', '.agent/none'], readOnly: ['.agent'] });
  expect(found.shown).toEqual([
    { path: '.agent', source: join(home, '.agent'), writable: false },
    { path: '.agent/login', source: join(home, '.agent/login'), writable: true },
    { path: '.agent/sessions', source: join(home, '.agent/sessions'), writable: true },
  ]);
});

test('a copy is the bytes of now, and a file of ours is in the place of theirs', () => {
  const files = [{ path: '.agent/config', text: 'ours' }];
  expect(survey({ copied: ['.agent/login', '.agent/config'], readOnly: ['.agent/config'], files })).toEqual({
    shown: [],
    copied: [{ path: '.agent/login', bytes: Buffer.from('token') }],
    files: [{ path: '.agent/config', bytes: Buffer.from('ours') }],
    settings: [],
  });
});

test.each([
  ['a link', () => symlinkSync('/etc/passwd', join(home, '.agent/link')), '.agent/link'],
  ['what a linked directory leads to', () => symlinkSync(join(home, '.agent'), join(home, '.linked')), '.linked/login'],
  ['Palyra’s own home', () => undefined, '.palyra/key'],
  ['what holds Palyra’s home', () => undefined, '.'],
])('%s is left out', (_what, prepare, path) => {
  prepare();
  expect(survey({ writable: [path], copied: [path] })).toMatchObject({ shown: [], copied: [] });
});
