import type { CommandDefinition } from './command.ts';
import { allow } from './commands/allow.ts';
import { approve, deny } from './commands/approve.ts';
import { caRoll } from './commands/ca-roll.ts';
import { caStatus } from './commands/ca-status.ts';
import { completionOf } from './commands/completion.ts';
import { configCheck } from './commands/config-check.ts';
import { configInit } from './commands/config-init.ts';
import { configSet } from './commands/config-set.ts';
import { configShow } from './commands/config-show.ts';
import { demo } from './commands/demo.ts';
import { deviceJoin } from './commands/device-join.ts';
import { deviceList } from './commands/device-list.ts';
import { devicePair } from './commands/device-pair.ts';
import { deviceRenew } from './commands/device-renew.ts';
import { deviceRevoke } from './commands/device-revoke.ts';
import { deviceRoles } from './commands/device-roles.ts';
import { doctor } from './commands/doctor.ts';
import { down } from './commands/down.ts';
import { exec, run } from './commands/exec.ts';
import { grantsList } from './commands/grants-list.ts';
import { grantsRevoke } from './commands/grants-revoke.ts';
import { inbox } from './commands/inbox.ts';
import { init } from './commands/init.ts';
import { install } from './commands/install.ts';
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
import { log } from './commands/log.ts';
import { mcpServe } from './commands/mcp-serve.ts';
import { policyApply } from './commands/policy-apply.ts';
import { policyCheck } from './commands/policy-check.ts';
import { policyDiff } from './commands/policy-diff.ts';
import { policyExplain } from './commands/policy-explain.ts';
import { policyTest } from './commands/policy-test.ts';
import { runsCancel } from './commands/runs-cancel.ts';
import { runsList } from './commands/runs-list.ts';
import { runsShow } from './commands/runs-show.ts';
import { status } from './commands/status.ts';
import { stop } from './commands/stop.ts';
import { tokenCreate } from './commands/token-create.ts';
import { tokenList } from './commands/token-list.ts';
import { tokenRevoke } from './commands/token-revoke.ts';
import { toolCall } from './commands/tool-call.ts';
import { toolList } from './commands/tool-list.ts';
import { undo } from './commands/undo.ts';
import { uninstall } from './commands/uninstall.ts';
import { up } from './commands/up.ts';
import { verify } from './commands/verify.ts';
import { why } from './commands/why.ts';
import { workspaceAdd } from './commands/workspace-add.ts';
import { workspaceList } from './commands/workspace-list.ts';
import { workspaceRemove } from './commands/workspace-remove.ts';

/** Every command there is, in the order of `--help`. */
export const COMMANDS: readonly CommandDefinition[] = [
  exec,
  run,
  install,
  uninstall,
  mcpServe,
  log,
  why,
  undo,
  stop,
  toolList,
  toolCall,
  runsList,
  runsShow,
  runsCancel,
  workspaceAdd,
  workspaceList,
  workspaceRemove,
  inbox,
  approve,
  deny,
  allow,
  grantsList,
  grantsRevoke,
  up,
  down,
  status,
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
  policyApply,
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
  demo,
  completionOf(() => COMMANDS),
];
