import type { CommandDefinition } from './command.ts';
import { caRoll } from './commands/ca-roll.ts';
import { caStatus } from './commands/ca-status.ts';
import { configCheck } from './commands/config-check.ts';
import { configInit } from './commands/config-init.ts';
import { configSet } from './commands/config-set.ts';
import { configShow } from './commands/config-show.ts';
import { deviceJoin } from './commands/device-join.ts';
import { deviceList } from './commands/device-list.ts';
import { devicePair } from './commands/device-pair.ts';
import { deviceRenew } from './commands/device-renew.ts';
import { deviceRevoke } from './commands/device-revoke.ts';
import { deviceRoles } from './commands/device-roles.ts';
import { doctor } from './commands/doctor.ts';
import { init } from './commands/init.ts';
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
import { tokenCreate } from './commands/token-create.ts';
import { tokenList } from './commands/token-list.ts';
import { tokenRevoke } from './commands/token-revoke.ts';
import { verify } from './commands/verify.ts';

/** Every command there is, in the order of `--help`. */
export const COMMANDS: readonly CommandDefinition[] = [
  configInit,
  configShow,
  configSet,
  configCheck,
  init,
  devicePair,
  deviceJoin,
  deviceList,
  deviceRoles,
  deviceRenew,
  deviceRevoke,
  tokenCreate,
  tokenList,
  tokenRevoke,
  caStatus,
  caRoll,
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
