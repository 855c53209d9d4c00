import type { CommandDefinition } from './command.ts';
import { completionOf } from './commands/completion.ts';

interface CommandEntry {
  readonly name: string;
  load(): Promise<CommandDefinition>;
}

/** Every command there is, in the order of `--help`. One is loaded when it is typed: all of them take longer than most run. */
const TABLE: readonly CommandEntry[] = [
  { name: 'wrap', load: async () => (await import('./commands/wrap.ts')).wrap },
  { name: 'exec', load: async () => (await import('./commands/exec.ts')).exec },
  { name: 'run', load: async () => (await import('./commands/exec.ts')).run },
  { name: 'install', load: async () => (await import('./commands/install.ts')).install },
  { name: 'uninstall', load: async () => (await import('./commands/uninstall.ts')).uninstall },
  { name: 'mcp serve', load: async () => (await import('./commands/mcp-serve.ts')).mcpServe },
  { name: 'log', load: async () => (await import('./commands/log.ts')).log },
  { name: 'why', load: async () => (await import('./commands/why.ts')).why },
  { name: 'undo', load: async () => (await import('./commands/undo.ts')).undo },
  { name: 'stop', load: async () => (await import('./commands/stop.ts')).stop },
  { name: 'tool list', load: async () => (await import('./commands/tool-list.ts')).toolList },
  { name: 'tool call', load: async () => (await import('./commands/tool-call.ts')).toolCall },
  { name: 'runs list', load: async () => (await import('./commands/runs-list.ts')).runsList },
  { name: 'runs show', load: async () => (await import('./commands/runs-show.ts')).runsShow },
  { name: 'runs cancel', load: async () => (await import('./commands/runs-cancel.ts')).runsCancel },
  { name: 'workspace add', load: async () => (await import('./commands/workspace-add.ts')).workspaceAdd },
  { name: 'workspace list', load: async () => (await import('./commands/workspace-list.ts')).workspaceList },
  { name: 'workspace remove', load: async () => (await import('./commands/workspace-remove.ts')).workspaceRemove },
  { name: 'module add', load: async () => (await import('./commands/module-add.ts')).moduleAdd },
  { name: 'module list', load: async () => (await import('./commands/module-list.ts')).moduleList },
  { name: 'module remove', load: async () => (await import('./commands/module-remove.ts')).moduleRemove },
  { name: 'inbox', load: async () => (await import('./commands/inbox.ts')).inbox },
  { name: 'approve', load: async () => (await import('./commands/approve.ts')).approve },
  { name: 'deny', load: async () => (await import('./commands/approve.ts')).deny },
  { name: 'allow', load: async () => (await import('./commands/allow.ts')).allow },
  { name: 'grants list', load: async () => (await import('./commands/grants-list.ts')).grantsList },
  { name: 'grants revoke', load: async () => (await import('./commands/grants-revoke.ts')).grantsRevoke },
  { name: 'up', load: async () => (await import('./commands/up.ts')).up },
  { name: 'down', load: async () => (await import('./commands/down.ts')).down },
  { name: 'status', load: async () => (await import('./commands/status.ts')).status },
  { name: 'config init', load: async () => (await import('./commands/config-init.ts')).configInit },
  { name: 'config show', load: async () => (await import('./commands/config-show.ts')).configShow },
  { name: 'config set', load: async () => (await import('./commands/config-set.ts')).configSet },
  { name: 'config check', load: async () => (await import('./commands/config-check.ts')).configCheck },
  { name: 'init', load: async () => (await import('./commands/init.ts')).init },
  { name: 'device pair', load: async () => (await import('./commands/device-pair.ts')).devicePair },
  { name: 'device join', load: async () => (await import('./commands/device-join.ts')).deviceJoin },
  { name: 'device list', load: async () => (await import('./commands/device-list.ts')).deviceList },
  { name: 'device roles', load: async () => (await import('./commands/device-roles.ts')).deviceRoles },
  { name: 'device renew', load: async () => (await import('./commands/device-renew.ts')).deviceRenew },
  { name: 'device revoke', load: async () => (await import('./commands/device-revoke.ts')).deviceRevoke },
  { name: 'token create', load: async () => (await import('./commands/token-create.ts')).tokenCreate },
  { name: 'token list', load: async () => (await import('./commands/token-list.ts')).tokenList },
  { name: 'token revoke', load: async () => (await import('./commands/token-revoke.ts')).tokenRevoke },
  { name: 'ca status', load: async () => (await import('./commands/ca-status.ts')).caStatus },
  { name: 'ca roll', load: async () => (await import('./commands/ca-roll.ts')).caRoll },
  { name: 'policy check', load: async () => (await import('./commands/policy-check.ts')).policyCheck },
  { name: 'policy test', load: async () => (await import('./commands/policy-test.ts')).policyTest },
  { name: 'policy explain', load: async () => (await import('./commands/policy-explain.ts')).policyExplain },
  { name: 'policy diff', load: async () => (await import('./commands/policy-diff.ts')).policyDiff },
  { name: 'policy apply', load: async () => (await import('./commands/policy-apply.ts')).policyApply },
  { name: 'verify', load: async () => (await import('./commands/verify.ts')).verify },
  { name: 'journal show', load: async () => (await import('./commands/journal-show.ts')).journalShow },
  { name: 'journal body', load: async () => (await import('./commands/journal-body.ts')).journalBody },
  { name: 'journal snapshot', load: async () => (await import('./commands/journal-snapshot.ts')).journalSnapshot },
  { name: 'journal logs', load: async () => (await import('./commands/journal-logs.ts')).journalLogs },
  { name: 'journal export', load: async () => (await import('./commands/journal-export.ts')).journalExport },
  { name: 'journal bundle', load: async () => (await import('./commands/journal-bundle.ts')).journalBundle },
  {
    name: 'journal checkpoint',
    load: async () => (await import('./commands/journal-checkpoint.ts')).journalCheckpoint,
  },
  { name: 'journal cosign', load: async () => (await import('./commands/journal-cosign.ts')).journalCosign },
  { name: 'journal cosigned', load: async () => (await import('./commands/journal-cosigned.ts')).journalCosigned },
  { name: 'journal recover', load: async () => (await import('./commands/journal-recover.ts')).journalRecover },
  { name: 'journal archive', load: async () => (await import('./commands/journal-archive.ts')).journalArchive },
  { name: 'journal erase', load: async () => (await import('./commands/journal-erase.ts')).journalErase },
  { name: 'journal rotate-key', load: async () => (await import('./commands/journal-rotate-key.ts')).journalRotateKey },
  { name: 'doctor', load: async () => (await import('./commands/doctor.ts')).doctor },
  { name: 'demo', load: async () => (await import('./commands/demo.ts')).demo },
  { name: 'completion', load: async () => completionOf(loadCommands) },
];

/** All of them. */
export async function loadCommands(): Promise<readonly CommandDefinition[]> {
  return Promise.all(TABLE.map(({ load }) => load()));
}

/** The one that was typed, or all where they are listed, or where it takes all of them to say what was meant. */
export async function commandsFor(argv: readonly string[]): Promise<readonly CommandDefinition[]> {
  const dashes = argv.indexOf('--');
  const own = dashes === -1 ? argv : argv.slice(0, dashes);
  if (own.includes('--version')) return [];
  const [noun, verb] = own.filter((word, at) => !word.startsWith('-') && own[at - 1] !== '--home');
  const typed = TABLE.find(({ name }) => name === noun) ?? TABLE.find(({ name }) => name === `${noun} ${verb}`);
  return typed === undefined ? loadCommands() : [await typed.load()];
}
