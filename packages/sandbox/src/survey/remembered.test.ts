import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { hostDirectories } from './directory-files.ts';
import { rememberWorkspaces } from './remembered.ts';
import { hostSurveyFiles } from './survey-files.ts';
import type { SurveyDeps } from './survey-host.ts';

let top = '';
let now = 0;
const at = (path: string) => join(top, path);

beforeEach(() => {
  top = realpathSync(mkdtempSync(join(tmpdir(), 'palyra-remembered-')));
  now = 1_000_000;
  for (const each of ['home/.ssh', 'home/.palyra', 'shop/src', 'other']) mkdirSync(at(each), { recursive: true });
});
afterEach(() => rmSync(top, { recursive: true, force: true }));

function workspaces(changed: Partial<Pick<SurveyDeps, 'files' | 'directories'>> = {}) {
  const operator = { path: '', home: at('home'), palyraHome: at('home/.palyra'), environment: {} };
  const deps = { operator, files: hostSurveyFiles, directories: hostDirectories, now: () => now, ...changed };
  return rememberWorkspaces(deps as unknown as SurveyDeps);
}

const HOLDS_CREDENTIALS = { kind: 'refused', message: 'The workspace holds, or lies in, a place of credentials.' };

test('a verdict counts for a second', () => {
  const look = workspaces();
  expect(look(at('shop')).kind).toBe('ok');
  symlinkSync(at('shop/src'), at('home/.aws'));
  now += 999;
  expect(look(at('shop')).kind).toBe('ok');
  now += 1;
  expect(look(at('shop'))).toMatchObject(HOLDS_CREDENTIALS);
});

test('SECURITY: T-41 — a clock that was set back makes no verdict younger', () => {
  const look = workspaces();
  expect(look(at('shop')).kind).toBe('ok');
  symlinkSync(at('shop/src'), at('home/.aws'));
  now -= 3_600_000;
  expect(look(at('shop'))).toMatchObject(HOLDS_CREDENTIALS);
});

test('SECURITY: T-14 — what was put there when it had been looked at is another one', () => {
  let state: 'new' | 'looked at' | 'swapped' = 'new';
  const realPath = (path: string) => {
    if (state === 'new') state = 'looked at';
    return hostSurveyFiles.realPath(path);
  };
  const identity = (path: string) => {
    if (state === 'looked at') {
      renameSync(at('shop'), at('before'));
      renameSync(at('other'), at('shop'));
      symlinkSync(at('shop'), at('home/.aws'));
      state = 'swapped';
    }
    return hostDirectories.identity(path);
  };
  const look = workspaces({ files: { ...hostSurveyFiles, realPath }, directories: { ...hostDirectories, identity } });
  expect(look(at('shop')).kind).toBe('ok');
  expect(look(at('shop'))).toMatchObject(HOLDS_CREDENTIALS);
  expect(state).toBe('swapped');
});

test('what cannot be looked at is refused with a reason', () => {
  const look = workspaces();
  for (const path of ['/etc/passwd/x', `/${'x'.repeat(5000)}`, '/a\0b']) {
    expect(look(path)).toMatchObject({ kind: 'refused' });
  }
});
