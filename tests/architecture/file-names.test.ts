import { expect, test } from 'vitest';
import { checkFileNames } from './check-file-names.ts';
import { repositoryOf, thisRepository } from './repository.ts';

test('every file and folder of this repository is named for what it does, in kebab-case', () => {
  expect(checkFileNames(thisRepository())).toEqual([]);
});

function faultsOf(path: string): string[] {
  return checkFileNames(repositoryOf({ [path]: '' }));
}

test.for([
  'packages/policy/src/utils.ts',
  'packages/policy/src/util.ts',
  'packages/policy/src/helpers/find.ts',
  'packages/policy/src/types.ts',
  'packages/policy/src/type.ts',
  'packages/policy/src/string-utils.test.ts',
  'packages/policy/src/session-manager.ts',
  'packages/policy/src/common/index.ts',
  'apps/cli/src/base.ts',
  'apps/cli/src/misc.mjs',
  'packages/sandbox/native/impl.c',
])('%s says nothing', (path) => {
  expect(faultsOf(path)).toEqual([expect.stringContaining('says nothing about what is inside')]);
});

test.for([
  'packages/policy/src/RunToolCall.ts',
  'apps/cli/src/run_tool.ts',
  'tests/e2e/T-08-lies.test.ts',
  'tools/Setup/a.ts',
])('%s is not kebab-case', (path) => {
  expect(faultsOf(path)).toEqual([expect.stringContaining('is not kebab-case')]);
});

test.for([
  'packages/policy/src/run-tool-call.test.ts',
  'packages/primitives/src/base64url.ts',
  'packages/policy/README.md',
  'docs/adr/0001-layers.md',
  'bench/storage.bench.ts',
  'packages/api/src/gen/palyra/common.ts',
  'tests/vectors/jcs/input/French.json',
  'tests/attack/T-08-hidden-text.test.ts',
  'tsconfig.base.json',
  '.ci/run',
])('%s is fine', (path) => {
  expect(faultsOf(path)).toEqual([]);
});
