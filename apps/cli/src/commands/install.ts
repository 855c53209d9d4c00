import { existsSync } from 'node:fs';
import { join } from 'node:path';
import {
  type AgentClient,
  AgentsError,
  CLIENT_NAMES,
  type FileEdit,
  findClient,
  type InstallOptions,
} from '@palyra/agents';
import type { HomeLayout } from '@palyra/config';
import { visibleText } from '@palyra/primitives';
import { CliError } from '../cli-error.ts';
import { checkUnchanged, readSettings, writeSettings } from '../clients/client-files.ts';
import { installOptions } from '../clients/install-options.ts';
import { type RecordedFile, readRecord, writeRecord } from '../clients/install-record.ts';
import type { CommandContext, CommandDefinition } from '../command.ts';
import { confirm } from '../confirm.ts';
import { findHome } from '../find-home.ts';
import { makeHome } from '../make-home.ts';
import { renderDiff } from '../render/diff.ts';
import { safeText } from '../render/safe-text.ts';

/** `palyra install claude-code`: the agent asks Palyra before each of its tools. */
export const install: CommandDefinition = {
  name: 'install',
  group: 'Agents',
  summary: 'Have an agent ask Palyra before its tools',
  details:
    `Changes the agent’s own settings: ${CLIENT_NAMES.join(', ')}. Shows the difference first, keeps what was there, and adds ` +
    'no rule that allows anything. A hook is an eye and not a wall: palyra wrap is the wall. palyra doctor says whether ' +
    'it is alive.',
  arguments: [{ name: 'CLIENT', summary: 'The agent', isRequired: true }],
  options: [{ flags: '--yes', summary: 'Do not ask' }],
  async run({ arguments: [name = ''], options }, context) {
    const client = findClient(name);
    const { home } = findHome(context);
    if (!existsSync(join(home.identity, 'local-agent'))) await makeHome(context);
    const installed = await installOptions(name, home, context);
    refuseShadow(client, installed, context);
    const edits = client.install.edits(installed);
    const planned = edits.map((edit) => planEdit(edit, context));
    const changes = planned.filter(({ before, after }) => before !== after);
    const shown = changes.map(renderDiff).join('\n');
    if (changes.length > 0) {
      const explanation = `${safeText(shown)}\nThese settings of ${client.profile.title} will be changed.`;
      await confirm({ explanation, isGiven: options['yes'] === true }, context);
      checkUnchanged(planned);
      apply(home, name, planned);
    }
    const files = changes.map(({ path }) => path);
    const coverage = client.hooks === undefined ? 'mcp_only' : 'hooked';
    return {
      json: { client: name, changed: files, coverage, afterwards: client.install.afterwards },
      render: () =>
        [
          files.length === 0
            ? `${client.profile.title} asks Palyra already.`
            : `Changed ${files.map((path) => visibleText(path)).join(', ')}.`,
          ...client.install.afterwards,
          'Keep palyrad running with palyra up: while it does not run, the agent’s tools are refused.',
          `Coverage: ${coverage}. palyra doctor proves it; palyra uninstall ${name} takes it back.`,
          '',
        ].join('\n'),
    };
  },
};

/** SECURITY: T-38 — of a server of our name that is not ours, calls would look like calls to Palyra. */
function refuseShadow({ install: { servers } }: AgentClient, options: InstallOptions, context: CommandContext): void {
  if (servers === undefined) return;
  const path = join(context.userHome(), servers.path);
  const text = readSettings(path);
  if (text === undefined || !servers.hasAnotherOfOurName(text, options.mcpCommand)) return;
  throw new CliError(
    'cli.unknown_format',
    `${visibleText(path)} has an MCP server of the name palyra that is not ours, or that cannot be read here.`,
    { fix: `Rename or remove it. Ours is: ${options.mcpCommand.join(' ')}` },
  );
}

interface PlannedFile {
  readonly path: string;
  readonly before: string | undefined;
  readonly after: string;
  /** `before` with nothing of ours in it; undefined: no file. */
  readonly without: string | undefined;
}

function planEdit(edit: FileEdit, context: CommandContext): PlannedFile {
  const path = join(context.userHome(), edit.path);
  const before = readSettings(path);
  try {
    return { path, before, after: edit.add(before), without: before === undefined ? before : edit.remove(before) };
  } catch (error) {
    if (!(error instanceof AgentsError)) throw error;
    throw new CliError('cli.unknown_format', `${visibleText(path)} was left alone. ${error.message}`, {
      fix: `Put this into it yourself:\n${edit.pasted}`,
      cause: error,
    });
  }
}

function apply(home: HomeLayout, client: string, planned: readonly PlannedFile[]): void {
  const known = readRecord(home, client);
  const files = planned.map(({ path, before, after, without }): RecordedFile => {
    const earlier = known?.files.find((file) => file.path === path);
    // Twice in a row: what was there before the first is what comes back.
    if (earlier !== undefined && earlier.after === before) return { ...earlier, after };
    // Changed since: an entry of ours that is in it must not come back with the rest.
    if (earlier !== undefined) return { ...earlier, before: without ?? null, after };
    return { path, before: before ?? null, after, made: [] };
  });
  writeRecord(home, { client, files });
  const written = files.map((file) => {
    const made = writeSettings(file.path, file.after);
    return made.length === 0 ? file : { ...file, made };
  });
  writeRecord(home, { client, files: written });
}
