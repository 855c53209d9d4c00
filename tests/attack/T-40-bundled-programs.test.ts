// T-40, T-42: palyra and palyrad run what the set-up bundled in .cache: code that somebody else on the machine put there, or could
// write to, runs with the operator's authority; and so does an old bundle, in which what was since repaired is still broken.
import { execFile } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { openBundle } from '../../packages/primitives/src/bundled-program.ts';
import { createTemporaryHome } from '../../packages/testkit/src/temporary-home.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const APPS = { cli: 'palyra-process', daemon: 'palyrad-process' } as const;

let place: Awaited<ReturnType<typeof createTemporaryHome>>;
const inside = (path: string) => join(place.path, path);

/** Both programs as they begin, and behind that nothing but a word that says what was run. */
beforeAll(async () => {
  place = await createTemporaryHome();
  cpSync(join(ROOT, 'packages/primitives'), inside('packages/primitives'), { recursive: true });
  mkdirSync(inside('node_modules/@palyra'), { recursive: true });
  symlinkSync('../../packages/primitives', inside('node_modules/@palyra/primitives'));
  for (const app of Object.keys(APPS)) {
    mkdirSync(inside(`apps/${app}/src`), { recursive: true });
    for (const file of ['package.json', 'src/main.ts']) {
      cpSync(join(ROOT, `apps/${app}`, file), inside(`apps/${app}/${file}`));
    }
  }
});
afterAll(() => place[Symbol.asyncDispose]());
beforeEach(() => {
  rmSync(inside('.cache'), { recursive: true, force: true });
  mkdirSync(inside('.cache/bundled/0'), { recursive: true });
  close();
  for (const name of Object.values(APPS)) {
    writeFileSync(inside(`.cache/bundled/0/${name}.js`), "console.log('bundle');\n", { mode: 0o600 });
  }
  for (const [app, name] of Object.entries(APPS)) {
    const source = inside(`apps/${app}/src/${name}.ts`);
    writeFileSync(source, "console.log('source' as string);\n");
    // Of a moment that can be told from now: of a newer one, the set-up writes down the digest too.
    utimesSync(source, LONG_AGO, LONG_AGO);
  }
  writeManifest();
});
afterEach(() => vi.restoreAllMocks());

const LONG_AGO = 1_700_000_000;

function close(): void {
  for (const directory of ['.cache/bundled', '.cache/bundled/0']) chmodSync(inside(directory), 0o700);
}

function writeManifest(): void {
  const sources = Object.entries(APPS).map(([app, name]) => [`apps/${app}/src/${name}.ts`, `${name}.js`] as const);
  const inputs = sources.map(([path]) => [path, statSync(inside(path)).size, statSync(inside(path)).mtimeMs]);
  const manifest = { format: 1, maker: 'm', generation: '0', programs: Object.fromEntries(sources), inputs };
  writeFileSync(inside('.cache/bundled/manifest.json'), JSON.stringify(manifest), { mode: 0o600 });
}

async function runs(app: keyof typeof APPS, ...args: readonly string[]): Promise<string> {
  const argv = ['--conditions=palyra-source', inside(`apps/${app}/src/main.ts`), ...args];
  const { stdout } = await promisify(execFile)(process.execPath, argv, { env: {} });
  return stdout.trim();
}

test('the bundle of this user and of these sources is run', async () => {
  expect(await Promise.all([runs('cli'), runs('daemon')])).toEqual(['bundle', 'bundle']);
});

test('whoever edits a source runs the edit', async () => {
  writeFileSync(inside('apps/cli/src/palyra-process.ts'), "console.log('edited' as string);\n");
  expect(await Promise.all([runs('cli'), runs('daemon')])).toEqual(['edited', 'source']);
});

test('root that is about to become the user of a service runs nothing from a cache', async () => {
  expect(await runs('daemon', '--service-user', 'palyra')).toBe('source');
  expect(await runs('daemon', '--service-user=palyra')).toBe('source');
});

describe('not run is a bundle', () => {
  test('that others can write to, or come through to', async () => {
    for (const path of ['.cache/bundled', '.cache/bundled/0']) {
      for (const mode of [0o777, 0o720, 0o702, 0o711]) {
        chmodSync(inside(path), mode);
        expect(openBundle(place.path)).toBeUndefined();
      }
      expect(await runs('cli')).toBe('source');
      close();
    }
    chmodSync(inside('.cache/bundled/manifest.json'), 0o622);
    expect(openBundle(place.path)).toBeUndefined();
  });

  test('of somebody else', () => {
    const { uid } = statSync(inside('.cache/bundled'));
    expect(openBundle(place.path)).toBeDefined();
    vi.spyOn(process, 'geteuid').mockReturnValue(uid + 1);
    expect(openBundle(place.path)).toBeUndefined();
  });

  test('that a link leads to', async () => {
    renameSync(inside('.cache/bundled'), inside('elsewhere'));
    symlinkSync('../elsewhere', inside('.cache/bundled'));
    expect(await runs('daemon')).toBe('source');
  });

  test('whose manifest is broken, or leads elsewhere', async () => {
    const manifest = inside('.cache/bundled/manifest.json');
    writeFileSync(inside('evil.js'), "console.log('evil');\n");
    const programs = { 'apps/cli/src/palyra-process.ts': '../../../evil.js' };
    const { size, mtimeMs } = statSync(inside('evil.js'));
    const inputs = [['evil.js', size, mtimeMs]];
    writeFileSync(manifest, JSON.stringify({ format: 1, generation: '0', programs, inputs }));
    expect(await runs('cli')).toBe('source');
    writeFileSync(manifest, '{"format":1,');
    expect(await runs('cli')).toBe('source');
  });
});
