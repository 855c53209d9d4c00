import { describe, expect, test } from 'vitest';
import {
  checkArchitecturePage,
  checkDecisionRecords,
  checkDependencyLines,
  checkPinnedVersions,
  checkRegistryHosts,
} from './check-documents.ts';
import { repositoryOf, thisRepository } from './repository.ts';

describe('ARCHITECTURE.md', () => {
  test('fits in 200 lines here', () => {
    expect(checkArchitecturePage(thisRepository())).toEqual([]);
  });

  test('may have 200 lines and not 201, and must exist', () => {
    expect(checkArchitecturePage(repositoryOf({ 'ARCHITECTURE.md': 'x\n'.repeat(200) }))).toEqual([]);
    expect(checkArchitecturePage(repositoryOf({ 'ARCHITECTURE.md': 'x\n'.repeat(201) }))).toHaveLength(1);
    expect(checkArchitecturePage(repositoryOf({}))).toEqual(['ARCHITECTURE.md: is missing']);
  });
});

describe('decision records', () => {
  const record = [
    '# ADR 0001: Layers',
    'Status: accepted · Date: 2026-11-15',
    '## Context',
    '## Decision',
    '## Consequences',
    '## Alternatives considered',
  ].join('\n');

  test('have one form here', () => {
    expect(checkDecisionRecords(thisRepository())).toEqual([]);
  });

  test('of the right form are accepted, with a list of them beside', () => {
    expect(checkDecisionRecords(repositoryOf({ 'docs/adr/0001-layers.md': record, 'docs/adr/README.md': '' }))).toEqual(
      [],
    );
  });

  test.for([
    ['a gap in the numbers', { 'docs/adr/0002-layers.md': record }, 'should be number 0001'],
    ['another title', { 'docs/adr/0001-a.md': record.replace('ADR 0001: ', '') }, 'begins with "# ADR 0001: …"'],
    ['no date', { 'docs/adr/0001-a.md': record.replace(' · Date: 2026-11-15', '') }, 'needs a line "Status'],
    ['a missing section', { 'docs/adr/0001-a.md': record.replace('## Decision\n', '') }, 'has the sections Context,'],
    [
      'another order',
      { 'docs/adr/0001-a.md': record.replace('## Context', '## Zontext') },
      'has the sections Context,',
    ],
  ] as const)('with %s are refused', ([, files, sentence]) => {
    expect(checkDecisionRecords(repositoryOf(files))).toEqual([expect.stringContaining(sentence)]);
  });
});

describe('dependencies', () => {
  const manifest = JSON.stringify({ dependencies: { pino: '10.4.0', '@palyra/primitives': '0.1.0' } });
  const page = '| Package | Why |\n|---|---|\n| `pino` | logs |\n';

  test('at run time all have a line in docs/dependencies.md here, and no line is stale', () => {
    expect(checkDependencyLines(thisRepository())).toEqual([]);
  });

  test('are all pinned to one version here', () => {
    expect(checkPinnedVersions(thisRepository())).toEqual([]);
  });

  test('without a line, and lines without a dependency, are refused', () => {
    const check = (text: string) =>
      checkDependencyLines(repositoryOf({ 'packages/a/package.json': manifest, 'docs/dependencies.md': text }));
    expect(check(page)).toEqual([]);
    expect(check('Uses `pino`.')).toEqual(['packages/a/package.json: pino has no line in docs/dependencies.md']);
    expect(check(`${page}| \`left-pad\` | pads |\n`)).toEqual(['docs/dependencies.md: nobody depends on left-pad']);
    expect(checkDependencyLines(repositoryOf({}))).toEqual(['docs/dependencies.md: is missing']);
  });

  test.for(['^1.0.0', '~1.0.0', '1', '1.x', '*', 'latest', '>=1.0.0', 'file:../a', 'https://example.test/a.tgz'])(
    'with the version %s are refused',
    (version) => {
      const files = { 'apps/a/package.json': JSON.stringify({ devDependencies: { a: version } }) };
      expect(checkPinnedVersions(repositoryOf(files))).toEqual([
        `apps/a/package.json: a is ${version}, not an exact version`,
      ]);
    },
  );

  test('with a prerelease version are accepted', () => {
    const files = { 'package.json': JSON.stringify({ optionalDependencies: { a: '1.0.0-rc.1' } }) };
    expect(checkPinnedVersions(repositoryOf(files))).toEqual([]);
  });
});

describe('addresses of package registries', () => {
  const host = ['registry', 'npmjs', 'org'].join('.');

  test('are in no file of this repository', () => {
    expect(checkRegistryHosts(thisRepository())).toEqual([]);
  });

  test('are refused in any file, and in the lockfile under any name', () => {
    expect(checkRegistryHosts(repositoryOf({ '.npmrc': `registry=https://${host}/` }))).toHaveLength(1);
    const lockfile = { 'package-lock.json': '"resolved": "https://mirror.example.test/a.tgz"' };
    expect(checkRegistryHosts(repositoryOf(lockfile))).toEqual(['package-lock.json: holds download addresses']);
    expect(checkRegistryHosts(repositoryOf({ 'package-lock.json': '"resolved": "packages/a", "link": true' }))).toEqual(
      [],
    );
  });
});
