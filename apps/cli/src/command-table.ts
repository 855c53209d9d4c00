import type { CommandDefinition } from './command.ts';
import { configCheck } from './commands/config-check.ts';
import { configInit } from './commands/config-init.ts';
import { configSet } from './commands/config-set.ts';
import { configShow } from './commands/config-show.ts';
import { doctor } from './commands/doctor.ts';
import { journalArchive } from './commands/journal-archive.ts';
import { journalBody } from './commands/journal-body.ts';
import { journalBundle } from './commands/journal-bundle.ts';
import { journalCheckpoint } from './commands/journal-checkpoint.ts';
import { journalCosign } from './commands/journal-cosign.ts';
import { journalCosigned } from './commands/journal-cosigned.ts';
import { journalErase } from './commands/journal-erase.ts';
import { journalExport } from './commands/journal-export.ts';
import { journalLogs } from './commands/journal-logs.ts';
import { journalRecover } from './commands/journal-recover.ts';
import { journalRotateKey } from './commands/journal-rotate-key.ts';
import { journalShow } from './commands/journal-show.ts';
import { journalSnapshot } from './commands/journal-snapshot.ts';
import { policyCheck } from './commands/policy-check.ts';
import { policyDiff } from './commands/policy-diff.ts';
import { policyExplain } from './commands/policy-explain.ts';
import { policyTest } from './commands/policy-test.ts';
import { verify } from './commands/verify.ts';

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
  verify,
  journalShow,
  journalBody,
  journalSnapshot,
  journalLogs,
  journalExport,
  journalBundle,
  journalCheckpoint,
  journalCosign,
  journalCosigned,
  journalRecover,
  journalArchive,
  journalErase,
  journalRotateKey,
  doctor,
];
