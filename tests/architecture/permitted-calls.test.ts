import { expect, test } from 'vitest';
import { checkPermittedCalls } from './check-permitted-calls.ts';
import { repositoryOf, thisRepository } from './repository.ts';

test('nobody but approve makes permitted calls, and nobody but execute runs a tool', () => {
  expect(checkPermittedCalls(thisRepository())).toEqual([]);
});

const faultsOf = (path: string, source: string) => checkPermittedCalls(repositoryOf({ [path]: source }));
const TOOL = 'packages/gateway/src/tools/a.ts';

test.for([
  [TOOL, "import { permit } from '../tool-call/permitted-call.ts';"],
  [TOOL, "import { permit as harmless, type PermittedCall } from '../tool-call/permitted-call.ts';"],
  [TOOL, "import { consume } from '../tool-call/permitted-call.ts';"],
  [TOOL, "import * as all from '../tool-call/permitted-call.ts';"],
  [TOOL, "const { permit } = await import('../tool-call/permitted-call.ts');"],
  [TOOL, 'const permitted = call as unknown as PermittedCall;'],
  [TOOL, 'await other.tool.execute(call, context);'],
  ['packages/gateway/src/index.ts', "export { permit } from './tool-call/permitted-call.ts';"],
  ['packages/gateway/src/index.ts', "export * from './tool-call/permitted-call.ts';"],
  ['packages/gateway/src/tool-call/execute.ts', "import { consume, permit } from './permitted-call.ts';"],
  ['packages/gateway/src/tool-call/approve.ts', 'await call.tool.execute(call, context);'],
  ['apps/daemon/src/services/run.ts', 'await catalog.get(name).execute(call, context);'],
] as const)('%s may not say %s', ([path, source]) => {
  expect(faultsOf(path, source)).toHaveLength(1);
});

test.for([
  [TOOL, "import type { PermittedCall } from '../tool-call/permitted-call.ts';"],
  [TOOL, "import { type PermittedCall } from '../tool-call/permitted-call.ts';"],
  [TOOL, 'await database.read.selectFrom(runs).execute();'],
  ['packages/gateway/src/index.ts', "export type { PermittedCall } from './tool-call/permitted-call.ts';"],
  ['packages/gateway/src/tool-call/approve.ts', "import { permit } from './permitted-call.ts';"],
  ['packages/gateway/src/tools/a.test.ts', 'const permitted = {} as PermittedCall;'],
] as const)('%s may say %s', ([path, source]) => {
  expect(faultsOf(path, source)).toEqual([]);
});
