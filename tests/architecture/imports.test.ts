import { describe, expect, test } from 'vitest';
import { LAYERS } from '../../tools/layers.ts';
import { checkImports } from './check-imports.ts';
import { repositoryOf, thisRepository } from './repository.ts';

test('every import and dependency of this repository obeys the layer table', () => {
  expect(checkImports(thisRepository())).toEqual([]);
});

/** All packages exist and are empty, but for one source. */
function faultsOf(path: string, source: string): string[] {
  const manifests = Object.values(LAYERS).map(({ directory }) => [`${directory}/package.json`, '{}']);
  return checkImports(repositoryOf({ ...Object.fromEntries(manifests), [path]: source }));
}

describe('the table', () => {
  test('lets nobody import from a layer above its own', () => {
    const upward = Object.values(LAYERS).flatMap(({ directory, layer, mayImport }) =>
      mayImport
        .map((name) => LAYERS[name === 'journal/verify' ? 'journal' : name])
        .filter((imported) => layer !== 'beside' && (imported.layer === 'beside' || imported.layer > layer))
        .map((imported) => `${directory} → ${imported.directory}`),
    );
    expect(upward).toEqual([]);
  });

  test('has no circle', () => {
    const reached = (name: keyof typeof LAYERS, seen: readonly string[] = []): boolean =>
      seen.includes(name) ||
      LAYERS[name].mayImport.some((next) => reached(next === 'journal/verify' ? 'journal' : next, [...seen, name]));
    expect((Object.keys(LAYERS) as (keyof typeof LAYERS)[]).filter((name) => reached(name))).toEqual([]);
  });
});

describe('the check refuses', () => {
  test.for([
    ['a leaf importing a leaf', 'packages/policy/src/a.ts', "import '@palyra/journal';", 'policy may not import'],
    ['a leaf importing the gateway', 'packages/journal/src/a.ts', "import '@palyra/gateway';", 'journal may not'],
    ['a type import', 'packages/wasm/src/a.ts', "import type { A } from '@palyra/sandbox';", 'wasm may not import'],
    ['an import in a type', 'packages/wasm/src/a.ts', "let a: import('@palyra/sandbox').A;", 'wasm may not import'],
    ['a dynamic import', 'packages/vault/src/a.ts', "await import('@palyra/policy');", 'vault may not import'],
    ['a re-export', 'packages/primitives/src/a.ts', "export * from '@palyra/storage';", 'primitives may not import'],
    ['the gateway importing identity', 'packages/gateway/src/a.ts', "import '@palyra/identity';", 'gateway may not'],
    ['the console importing all of journal', 'apps/console/app/a.tsx', "import '@palyra/journal';", 'console may not'],
    ['the cli importing the gateway', 'apps/cli/src/a.ts', "import '@palyra/gateway';", 'cli may not import'],
    ['testkit importing the gateway', 'packages/testkit/src/a.ts', "import '@palyra/gateway';", 'testkit may not'],
    ['a test reaching past its layer', 'packages/policy/src/a.test.ts', "import '@palyra/journal';", 'policy may not'],
    ['testkit in the product', 'packages/policy/src/a.ts', "import '@palyra/testkit';", 'is for tests'],
    ['an unknown package', 'packages/policy/src/a.ts', "import '@palyra/nothing';", 'is not in tools/layers.ts'],
    ['an unknown package in a test', 'tests/e2e/a.test.ts', "import '@palyra/nothing';", 'is not in tools/layers.ts'],
    ['a relative way out', 'packages/policy/src/a.ts', "import '../../storage/src/b.ts';", 'leaves packages/policy'],
    ['the same in a test', 'packages/policy/src/a.test.ts', "import '../../../tests/b.ts';", 'leaves packages/policy'],
    ['a sibling of like name', 'packages/api/src/a.ts', "import '../../api-two/b.ts';", 'leaves packages/api'],
    ['a process started', 'packages/gateway/src/a.ts', "import 'node:child_process';", 'only the sandbox starts'],
    ['the same without prefix', 'apps/daemon/src/a.ts', "import 'child_process';", 'only the sandbox starts'],
    ['the same past import', 'apps/daemon/src/a.ts', "process.getBuiltinModule('child_process');", 'only the sandbox'],
    ['a database beside storage', 'packages/journal/src/a.ts', "import 'node:sqlite';", 'belongs to storage'],
    ['pg in the config', 'packages/config/src/a.ts', "import pg from 'pg';", 'belongs to storage'],
    ['Cedar in the gateway', 'packages/gateway/src/a.ts', "import '@cedar-policy/cedar-wasm';", 'belongs to policy'],
    ['x509 in the daemon', 'apps/daemon/src/a.ts', "import '@peculiar/x509';", 'belongs to identity'],
    ['Connect in a leaf', 'packages/policy/src/a.ts', "import '@connectrpc/connect';", 'only the edges know'],
    ['vitest in the product', 'packages/policy/src/a.ts', "import 'vitest';", 'is for tests'],
  ] as const)('%s', ([, path, source, sentence]) => {
    const faults = faultsOf(path, source);
    expect(faults).toHaveLength(1);
    expect(faults[0]).toContain(`${path}:1: `);
    expect(faults[0]).toContain(sentence);
  });

  test('a dependency the table does not allow', () => {
    const dependencies = JSON.stringify({ dependencies: { '@palyra/gateway': '0.1.0' } });
    expect(faultsOf('packages/policy/package.json', dependencies)).toEqual([
      'packages/policy/package.json: policy may not depend on @palyra/gateway',
    ]);
  });

  test('a package that is not in the table', () => {
    expect(faultsOf('packages/extras/src/a.ts', '')).toEqual(['packages/extras: is not in tools/layers.ts']);
  });

  test('an import of a package that is still to be built', () => {
    expect(checkImports(repositoryOf({ 'apps/daemon/src/a.ts': "import '@palyra/gateway';" }))).toEqual([
      'apps/daemon/src/a.ts:1: @palyra/gateway does not exist',
    ]);
  });
});

describe('the check accepts', () => {
  test.for([
    ['the entry point the console has', 'apps/console/app/a.ts', "import '@palyra/journal/verify';"],
    ['an entry point of an allowed package', 'apps/cli/src/a.ts', "import '@palyra/journal/verify';"],
    ['testkit in a test', 'packages/policy/src/a.test.ts', "import '@palyra/testkit';"],
    ['a package importing itself', 'packages/storage/src/a.test.ts', "import '@palyra/storage';"],
    ['anything in tests and benchmarks', 'bench/a.bench.ts', "import '@palyra/gateway'; import 'node:child_process';"],
    ['processes in testkit', 'packages/testkit/src/a.ts', "import 'node:child_process'; import 'pg';"],
    ['processes in the cli', 'apps/cli/src/a.ts', "import { spawn } from 'node:child_process';"],
    ['what a comment says', 'packages/policy/src/a.ts', "// import '@palyra/journal';"],
    ['generated code', 'packages/api/src/gen/a.ts', "import '../../../elsewhere.ts';"],
  ] as const)('%s', ([, path, source]) => {
    expect(faultsOf(path, source)).toEqual([]);
  });
});
