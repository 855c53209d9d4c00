import { join } from 'node:path';
import { type FileEdit, findClient, type InstallOptions } from '@palyra/agents';
import { visibleText } from '@palyra/primitives';
import { checkUnchanged, readSettings, removeSettings, writeSettings } from '../clients/client-files.ts';
import { type RecordedFile, readRecord, removeRecord } from '../clients/install-record.ts';
import type { CommandContext, CommandDefinition } from '../command.ts';
import { confirm } from '../confirm.ts';
import { findHome } from '../find-home.ts';
import { renderDiff } from '../render/diff.ts';
import { safeText } from '../render/safe-text.ts';

/** What is taken out is known by its place and its name: neither a hook nor a configuration that can be read is needed. */
const ANY_OPTIONS: InstallOptions = { hookCommand: '', timeoutSeconds: 0, mcpCommand: [''] };

/** `palyra uninstall claude-code`: its settings as they were, to the last byte. */
export const uninstall: CommandDefinition = {
  name: 'uninstall',
  group: 'Agents',
  summary: 'Take back what install changed',
  details:
    'Where the settings are as install left them, every byte is as before. Where they were changed since, only Palyra’s part ' +
    'is taken out. Shows the difference first.',
  arguments: [{ name: 'CLIENT', summary: 'The agent', isRequired: true }],
  options: [{ flags: '--yes', summary: 'Do not ask' }],
  async run({ arguments: [name = ''], options }, context) {
    const client = findClient(name);
    const { home } = findHome(context);
    const record = readRecord(home, name);
    const edits = client.install.edits(ANY_OPTIONS);
    const planned = edits.map((edit) => planRemoval(edit, record?.files ?? [], context)).toReversed();
    const changes = planned.filter(({ before, after }) => before !== after);
    if (changes.length > 0) {
      const explanation = `${safeText(changes.map(renderDiff).join('\n'))}\nThese settings of ${client.profile.title} will be changed.`;
      await confirm({ explanation, isGiven: options['yes'] === true }, context);
      checkUnchanged(planned);
      for (const { path, after, made } of changes) {
        if (after === undefined) removeSettings(path, made);
        else writeSettings(path, after);
      }
    }
    removeRecord(home, name);
    const pathsOf = (some: readonly PlannedRemoval[]) => some.map(({ path }) => path);
    const removed = pathsOf(changes.filter(({ after }) => after === undefined));
    const changed = pathsOf(changes.filter(({ after }) => after !== undefined));
    return {
      json: { client: name, changed: pathsOf(changes), removed, exact: changes.every(({ isExact }) => isExact) },
      render: () =>
        changes.length === 0
          ? `${client.profile.title} does not ask Palyra.\n`
          : `${sentence('Changed', changed)}${sentence('Removed', removed)}`,
    };
  },
};

function sentence(verb: string, paths: readonly string[]): string {
  return paths.length === 0 ? '' : `${verb} ${paths.map((path) => visibleText(path)).join(', ')}.\n`;
}

interface PlannedRemoval {
  readonly path: string;
  readonly before: string | undefined;
  /** Undefined: no file is left. */
  readonly after: string | undefined;
  readonly made: readonly string[];
  /** As it was before, to the last byte. */
  readonly isExact: boolean;
}

function planRemoval(edit: FileEdit, recorded: readonly RecordedFile[], context: CommandContext): PlannedRemoval {
  const path = join(context.userHome(), edit.path);
  const before = readSettings(path);
  const known = recorded.find((file) => file.path === path);
  const made = known?.made ?? [];
  if (before === undefined) return { path, before, after: undefined, made, isExact: true };
  if (known !== undefined && known.after === before) {
    return { path, before, after: known.before ?? undefined, made, isExact: true };
  }
  return { path, before, after: edit.remove(before), made, isExact: false };
}
