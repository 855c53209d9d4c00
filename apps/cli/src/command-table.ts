import type { CommandDefinition } from './command.ts';
import { configCheck } from './commands/config-check.ts';
import { configInit } from './commands/config-init.ts';
import { configSet } from './commands/config-set.ts';
import { configShow } from './commands/config-show.ts';
import { policyCheck } from './commands/policy-check.ts';
import { policyDiff } from './commands/policy-diff.ts';
import { policyExplain } from './commands/policy-explain.ts';
import { policyTest } from './commands/policy-test.ts';

/** Every command there is, in the order of `--help`. */
export const COMMANDS: readonly CommandDefinition[] = [
  configInit,
  configShow,
  configSet,
  configCheck,
  policyCheck,
  policyTest,
  policyExplain,
  policyDiff,
];
