import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type PathQuestion, resolveProfilePaths } from './profile-paths.ts';
import { hostSurveyFiles } from './survey-files.ts';

let top: string;

beforeAll(() => {
  top = realpathSync(mkdtempSync(join(tmpdir(), 'palyra-paths-')));
  for (const each of ['data', 'cache', 'keys', 'cache/inner']) mkdirSync(join(top, each));
  writeFileSync(join(top, 'data/token'), 'secret');
  symlinkSync(join(top, 'data'), join(top, 'link-to-data'));
  symlinkSync(join(top, 'data/token'), join(top, 'link-to-token'));
  symlinkSync(join(top, 'nowhere'), join(top, 'link-to-nowhere'));
});

afterAll(() => rmSync(top, { recursive: true, force: true }));

interface Named {
  readonly readOnly?: readonly string[];
  readonly writable?: readonly string[];
  readonly masked?: readonly string[];
  readonly credentials?: readonly string[];
  readonly wall?: PathQuestion['wall'];
}

function resolve({ readOnly = [], writable = [], masked = [], credentials = [], wall = () => undefined }: Named) {
  const at = (names: readonly string[]) => names.map((name) => `${top}/${name}`);
  return resolveProfilePaths({
    profile: { readOnlyPaths: at(readOnly), writablePaths: at(writable), maskedPaths: at(masked) },
    credentials: at(credentials),
    wall,
    files: hostSurveyFiles,
  });
}

function refused(message: string, fix: string) {
  return { kind: 'refused', code: 'sandbox.invalid_profile', message, fix };
}

test('a profile that names nothing shows nothing', () => {
  expect(resolve({})).toEqual({ kind: 'ok', readOnly: [], writable: [], masked: [] });
});

test('what may be read and what may be written are kept apart', () => {
  expect(resolve({ readOnly: ['data/', 'data/token'], writable: ['cache/inner', 'cache'] })).toEqual({
    kind: 'ok',
    readOnly: [`${top}/data`, `${top}/data/token`],
    writable: [`${top}/cache`, `${top}/cache/inner`],
    masked: [],
  });
});

test.each<[string, Named]>([
  ['to read', { readOnly: ['data', 'missing'] }],
  ['to write', { writable: ['missing'] }],
  ['behind a link', { readOnly: ['link-to-nowhere'] }],
])('what is not there cannot be shown: %s', (_, named) => {
  expect(resolve(named)).toEqual(
    refused('A path of the profile is not there.', 'Make it first, or take it out of the profile.'),
  );
});

test.each<[string, Named]>([
  ['to read', { readOnly: ['link-to-data'] }],
  ['to read, with a slash', { readOnly: ['link-to-data/'] }],
  ['on the way', { readOnly: ['data', 'link-to-data/token'] }],
  ['to write', { readOnly: ['data'], writable: ['cache', 'link-to-token'] }],
])('a link is not followed (T-14): %s', (_, named) => {
  expect(resolve(named)).toEqual(
    refused('A path of the profile leads through a link.', 'Write where it really is (realpath).'),
  );
});

test.each<[string, Named]>([
  ['to read', { readOnly: ['data', 'keys'] }],
  ['to write', { readOnly: ['data'], writable: ['keys'] }],
])('what is behind the wall is not shown (T-19): %s', (_, named) => {
  const wall = (path: string) => (path === `${top}/keys` ? 'It holds credentials.' : undefined);
  expect(resolve({ ...named, wall })).toEqual(
    refused('A path of the profile must not be shown to a tool. It holds credentials.', 'Take it out of the profile.'),
  );
});

test('the wall is asked about everything that is shown, and about no mask', () => {
  const asked: string[] = [];
  const wall = (path: string) => {
    asked.push(path);
    return undefined;
  };
  resolve({ readOnly: ['data'], writable: ['cache'], masked: ['keys'], credentials: ['data/token'], wall });
  expect(asked).toEqual([`${top}/data`, `${top}/cache`]);
});

test('masks and credentials are hidden once each, where they really are and as what they are', () => {
  const masked = ['keys', 'link-to-token', 'missing', 'link-to-nowhere'];
  expect(resolve({ masked, credentials: ['data/token', 'cache', 'gone'] })).toEqual({
    kind: 'ok',
    readOnly: [],
    writable: [],
    masked: [
      { path: `${top}/keys`, kind: 'directory' },
      { path: `${top}/data/token`, kind: 'file' },
      { path: `${top}/cache`, kind: 'directory' },
    ],
  });
});

test('what lies in another path is mounted after it, and in a masked directory nothing is', () => {
  expect(resolve({ readOnly: ['data/token', 'data'], masked: ['data/token', 'data', 'keys'] })).toMatchObject({
    readOnly: [`${top}/data`, `${top}/data/token`],
    masked: [
      { path: `${top}/data`, kind: 'directory' },
      { path: `${top}/keys`, kind: 'directory' },
    ],
  });
});
