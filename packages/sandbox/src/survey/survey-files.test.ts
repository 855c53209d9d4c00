import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createProgramFiles } from '../guard/program-files.ts';
import { hostSurveyFiles } from './survey-files.ts';

/** Keeps a lease for as long as it lives, whoever asks for the file. */
const HOLD = `
import fcntl, os, signal, sys
signal.signal(signal.SIGIO, signal.SIG_IGN)
file = os.open(sys.argv[1], os.O_RDONLY)
fcntl.fcntl(file, 1024, fcntl.F_WRLCK)
print('held', flush=True)
sys.stdin.read()
`;

let directory: string;
let file: string;
const programs = createProgramFiles([]);
const everyLook = (path: string) => [
  hostSurveyFiles.readText(path),
  hostSurveyFiles.readBytes(path),
  programs.firstBytes(path, 3),
  programs.sha256(path),
];
const NOTHING = [undefined, undefined, undefined, undefined];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'palyra-survey-'));
  file = join(directory, 'file');
  writeFileSync(file, 'abc');
});
afterEach(() => rmSync(directory, { recursive: true }));

describe('hostSurveyFiles and createProgramFiles', () => {
  it('read a regular file, and a text and the first bytes also through a link', () => {
    const link = join(directory, 'link');
    symlinkSync(file, link);
    const digest = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';
    expect(everyLook(file)).toEqual(['abc', Buffer.from('abc'), new Uint8Array(Buffer.from('abc')), digest]);
    expect(everyLook(link)).toEqual(['abc', undefined, new Uint8Array(Buffer.from('abc')), undefined]);
  });

  it('read files of the kernel, which say that they are empty', () => {
    expect(hostSurveyFiles.readText('/proc/self/limits')).toContain('Max open files');
  });

  it('have no text of what is longer than any', () => {
    truncateSync(file, 64 * 1024 + 1);
    expect(hostSurveyFiles.readText(file)).toBeUndefined();
    truncateSync(file, 8 * 1024 * 1024 + 1);
    expect(hostSurveyFiles.readBytes(file)).toBeUndefined();
  });

  // Whoever opened these to read and waited would wait for ever.
  it('do not wait for a fifo', () => {
    const fifo = join(directory, 'fifo');
    execFileSync('mkfifo', [fifo]);
    expect(everyLook(fifo)).toEqual(NOTHING);
  });

  it.runIf(process.platform === 'linux')('do not wait for whoever holds a lease [platform: linux]', async () => {
    const holder = spawn('python3', ['-c', HOLD, file], { stdio: ['pipe', 'pipe', 'inherit'] });
    await once(holder.stdout, 'data');
    const seen = everyLook(file);
    holder.stdin.end();
    await once(holder, 'close');
    expect(seen).toEqual(NOTHING);
  });
});
