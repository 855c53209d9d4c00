import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { findNode } from '../apps/cli/bin/pinned-node.mjs';

const PACKAGE = `node-linux-${process.arch}`;
const OURS = { path: process.execPath, version: process.versions.node };
const ASKED = 'v24.99.1';
const INSTALLED = '24.99.0';

/** Where the program's loader is named, and no more of it: whatever begins like this cannot run. */
function headerOf(path: string): Buffer {
  return readFileSync(path).subarray(0, 4096);
}

/** Says a version when it is asked for one, and has the loader of another program in its first bytes. */
function answering(header: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`#!/bin/sh\necho ${ASKED}\nexit 0\n`), header]);
}

/** The Node that is found beside such a package. */
function foundBeside(binary: Buffer | undefined, mode = 0o755) {
  const root = mkdtempSync(join(tmpdir(), 'palyra-pinned-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const directory = join(root, 'node_modules', PACKAGE);
  const path = join(directory, 'bin/node');
  mkdirSync(join(directory, 'bin'), { recursive: true });
  writeFileSync(join(directory, 'package.json'), JSON.stringify({ name: PACKAGE, version: INSTALLED }));
  if (binary !== undefined) writeFileSync(path, binary);
  if (binary !== undefined) chmodSync(path, mode);
  return { path, found: findNode(pathToFileURL(join(root, 'main.mjs')).href) };
}

describe.skipIf(process.platform !== 'linux')('the pinned Node', () => {
  const ours = headerOf(process.execPath);
  const loader = /\/ld-[\w.-]+\.so\.\d+/.exec(ours.toString('latin1'))?.[0] ?? '';
  const other = Buffer.from(ours.toString('latin1').replace(loader, loader.replace('/ld-', '/xd-')), 'latin1');
  const musl = Buffer.from(ours.toString('latin1').replace(loader, loader.replace('l', 'm')), 'latin1');

  test('is not asked for its version where the same program loads it', () => {
    const { path, found } = foundBeside(ours);
    expect(loader).not.toBe('');
    expect(found).toEqual({ path, version: INSTALLED });
  });

  test('is asked where another one loads it, or where that cannot be read', () => {
    for (const header of [other, musl, Buffer.alloc(0)]) {
      const { path, found } = foundBeside(answering(header));
      expect(found).toEqual({ path, version: ASKED.slice(1) });
    }
  });

  test.each([
    ['does not run', other],
    ['is empty', Buffer.alloc(0)],
    ['is missing', undefined],
  ])('that %s is not gone on with', (_what, binary) => {
    expect(foundBeside(binary).found).toEqual(OURS);
  });

  test('that may not be executed is not gone on with', () => {
    expect(foundBeside(ours, 0o644).found).toEqual(OURS);
  });
});
