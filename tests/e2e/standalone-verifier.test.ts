import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ReadQueries } from '@palyra/storage';
import {
  attestSampleCall,
  bodyDirectoryOf,
  createSampleCalls,
  createTemporaryHome,
  openJournalHome,
} from '@palyra/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeBundle } from '../../packages/journal/src/make-bundle.ts';
import type { JournalSchema } from '../../packages/journal/src/store/journal-schema.ts';
import { writeExport } from '../../packages/journal/src/write-export.ts';
import { buildStandaloneVerifier } from '../../tools/release/standalone-verifier.ts';
import { scanImports } from '../architecture/scan-imports.ts';
import { runInProcess } from './cli-in-process.ts';
import { HOST_NODE, runOnHost } from './host.ts';

/** Nothing of Palyra is in it but the built verifier and the files that it is given. */
let folder: string;
let key: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'palyra-verifier-'));
  await buildStandaloneVerifier(process.cwd(), folder);
  await using home = await createTemporaryHome();
  const place = { directory: home.path, location: { kind: 'sqlite', path: join(home.path, 'palyra.db') } } as const;
  await using opened = await openJournalHome(place, { inlineBytes: 100 });
  const read = opened.database.read as unknown as ReadQueries<JournalSchema>;
  const deps = { read, bodyDirectory: bodyDirectoryOf(place) };
  const { facts } = await attestSampleCall(opened.journal, createSampleCalls(), { input: 'in', output: 'out' });
  const bundle = await makeBundle(deps, facts.call_id, { bodies: true });
  let exported = '';
  for await (const line of writeExport(deps, { bodies: true })) exported += line;
  key = (JSON.parse(bundle) as { root_key: string }).root_key;
  const files = {
    'bundle.json': bundle,
    'export.ndjson': exported,
    'other.note': noteIn(exported),
    'bundle-tampered.json': bundle.replaceAll('process.run', 'process.ran'),
    'export-tampered.ndjson': exported.replaceAll('process.run', 'process.ran'),
    'export-cut.ndjson': exported.slice(0, -100),
    'neither.txt': 'hello\n',
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('the file stands alone: it imports nothing and names no module of Node', () => {
  const script = readFileSync(join(folder, 'palyra-verify.mjs'), 'utf8');
  expect(script).not.toContain('node:');
  // What it asks Node for when it was started as a program; a browser is asked for nothing.
  expect([...new Set(scanImports(script).map(({ specifier }) => specifier))].toSorted()).toEqual(['fs', 'path', 'url']);
});

describe.each([
  [`the host's Node ${HOST_NODE}`, 'node'],
  ['the Node that Palyra runs on', process.execPath],
])('under %s', (_name, node) => {
  const verify = (file: string, ...args: readonly string[]) =>
    runOnHost({ argv: [node, join(folder, 'palyra-verify.mjs'), join(folder, file), ...args], cwd: folder });

  test.each(['bundle', 'export'])('a good %s verifies', async (what) => {
    const file = what === 'bundle' ? 'bundle.json' : 'export.ndjson';
    expect(await verify(file, '--key', key)).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining('is signed under the key that you gave'),
      stderr: '',
    });
    const { exitCode, stdout } = await verify(file, '--key', key, '--json');
    expect({ exitCode, found: JSON.parse(stdout) as unknown }).toMatchObject({
      exitCode: 0,
      found: {
        verdict: 'sound',
        target: what,
        path: join(folder, file),
        root_key: key,
        established: { level: 'signed' },
      },
    });
  });

  test.each(['bundle.json', 'export.ndjson', 'bundle-tampered.json', 'export-tampered.ndjson'])(
    'says about %s to programs what palyra verify says',
    async (file) => {
      const options = ['--key', key, '--checkpoint', join(folder, 'other.note'), '--json'];
      const args = ['verify', join(folder, file), ...options];
      const { exit, out } = await runInProcess({ args, input: '', cwd: folder, variables: { PALYRA_HOME: folder } });
      const alone = await verify(file, ...options);
      expect({ exitCode: alone.exitCode, found: JSON.parse(alone.stdout) as unknown }).toEqual({
        exitCode: exit,
        found: JSON.parse(out) as unknown,
      });
    },
  );

  test('a witness that is required and not there is not established', async () => {
    expect(await verify('bundle.json', '--key', key, '--require-witness')).toMatchObject({ exitCode: 3 });
  });

  test.each(['bundle-tampered.json', 'export-tampered.ndjson', 'export-cut.ndjson'])(
    '%s does not verify',
    async (file) => {
      const { exitCode, stdout } = await verify(file, '--key', key);
      expect({ exitCode, stdout }).toEqual({ exitCode: 7, stdout: expect.stringMatching(/^Does not verify: /) });
    },
  );

  test('the key of somebody else does not verify anything', async () => {
    const other = 'palyra-root+00000000+AAAA';
    expect(await verify('bundle.json', '--key', other)).toMatchObject({ exitCode: 2 });
    expect(await verify('neither.txt', '--key', key)).toMatchObject({ exitCode: 2 });
  });

  test('what it cannot do is said with a code and a way out, and help is no error', async () => {
    expect(await verify('not-there.json', '--key', key)).toMatchObject({
      exitCode: 8,
      stdout: '',
      stderr: expect.stringMatching(/^error\[cli\.file_missing\]: .* is not there\.\nfix: Check the path\.\n$/),
    });
    expect(await verify('bundle.json', '--unknown')).toMatchObject({
      exitCode: 2,
      stderr: expect.stringMatching(/^error\[cli\.invalid_usage\]: .*\nfix: .*--help\.\n$/),
    });
    const { stderr } = await verify('neither.txt', '--key', key, '--json');
    expect(JSON.parse(stderr)).toEqual({
      error: { code: 'journal.invalid_export', message: expect.any(String), fix: expect.any(String) },
    });
    const old = 'data:text/javascript,delete process.getBuiltinModule';
    const argv = [node, '--import', old, join(folder, 'palyra-verify.mjs'), join(folder, 'bundle.json')] as const;
    expect(await runOnHost({ argv: [...argv], cwd: folder })).toMatchObject({
      exitCode: 2,
      stdout: '',
      stderr: expect.stringContaining('too old'),
    });
    const help = await runOnHost({ argv: [node, join(folder, 'palyra-verify.mjs'), '--help'], cwd: folder });
    expect(help).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^usage: /), stderr: '' });
  });
});

describe('the page in Chromium', () => {
  /** The page as it is released, and a script that chooses a file as a person would. */
  async function chosen(file: string, typedKey: string): Promise<string> {
    const script = `
      const files = new DataTransfer();
      files.items.add(new File([${inScript(readFileSync(join(folder, file), 'utf8'))}], ${inScript(file)}));
      document.getElementById('key').value = ${inScript(typedKey)};
      document.getElementById('file').files = files.files;
      document.getElementById('file').dispatchEvent(new Event('change'));`;
    const hash = `'sha256-${createHash('sha256').update(script).digest('base64')}'`;
    const page = readFileSync(join(folder, 'palyra-verify.html'), 'utf8')
      .replace('script-src ', () => `script-src ${hash} `)
      .replace('</body>', () => `<script type="module">${script}</script></body>`);
    const path = join(folder, `page-${file}.html`);
    writeFileSync(path, page);
    const { exitCode, stdout, stderr } = await runOnHost({
      argv: ['chromium', ...CHROMIUM, `--user-data-dir=${join(folder, 'chromium')}`, '--dump-dom', `file://${path}`],
      cwd: folder,
      env: { HOME: folder },
    });
    if (exitCode !== 0) throw new Error(`Chromium ended with ${exitCode}: ${stderr}`);
    const result = /<div class="card" id="result".*?<\/div>/s.exec(stdout)?.[0] ?? '';
    return result.replaceAll(/<(?!div)[^>]*>/g, ' ');
  }

  test('shows what a good bundle says', async () => {
    const shown = await chosen('bundle.json', key);
    expect(shown).toContain('data-verdict="sound"');
    expect(shown).toContain('The receipt of one call is signed under the key that you gave.');
    expect(shown).toContain('process.run');
  });

  test('verifies an export', async () => {
    expect(await chosen('export.ndjson', key)).toContain('data-verdict="sound"');
  });

  test('says plainly when no key was given', async () => {
    expect(await chosen('bundle.json', '')).toContain('data-verdict="unpinned"');
  });

  test.each(['bundle-tampered.json', 'export-tampered.ndjson', 'export-cut.ndjson'])(
    'shows that %s is broken',
    async (file) => {
      expect(await chosen(file, key)).toContain('data-verdict="broken"');
    },
  );

  test('shows when a file is none of ours', async () => {
    expect(await chosen('neither.txt', key)).toContain('data-verdict="unusable"');
  });

  test('lets nothing be loaded, and no script but its own run', () => {
    const page = readFileSync(join(folder, 'palyra-verify.html'), 'utf8');
    const policy = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(page)?.[1] ?? '';
    expect(policy).toMatch(/^default-src 'none'; script-src 'sha256-[^ ]+' 'sha256-[^ ]+'; style-src 'sha256-[^ ]+'; /);
    expect(page).not.toMatch(/(?:src|href)=/);
  });
});

/** The first checkpoint of an export: shorter than the one that a bundle is under. */
function noteIn(exported: string): string {
  const line = exported.split('\n').find((text) => text.includes('"type":"checkpoint"')) ?? '{}';
  return (JSON.parse(line) as { note: string }).note;
}

const CHROMIUM = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  '--no-first-run',
  '--disable-background-networking',
  '--virtual-time-budget=20000',
];

function inScript(text: string): string {
  return JSON.stringify(text).replaceAll('<', '\\u003c');
}
