import { visibleText } from '@palyra/primitives';
import type { CommandDefinition } from '../command.ts';
import { withDaemon } from '../reach-daemon.ts';
import { safeText } from '../render/safe-text.ts';
import { renderTable } from '../render/table.ts';

/** Puts files back as they were before an agent changed them. */
export const undo: CommandDefinition = {
  name: 'undo',
  group: 'Agents',
  summary: 'Put files back that a run changed',
  details:
    'What the file tools and an agent’s own wrote is put back as it was; a file that somebody changed since is left alone ' +
    'and named. What commands changed by themselves is not kept.',
  arguments: [{ name: 'RUN', summary: 'The run; the newest one here unless told', isRequired: false }],
  options: [
    { flags: '--call <ID>', summary: 'Only what this call changed' },
    { flags: '--dry-run', summary: 'Only say what would be put back' },
  ],
  async run({ arguments: [run], options }, context) {
    const { call } = options;
    const dryRun = options['dryRun'] === true;
    return withDaemon(context, 'operator', async ({ client }) => {
      const undone = await client.runs.undo({
        ...(run === undefined ? { workspace: context.workingDirectory() } : { run }),
        ...(typeof call === 'string' ? { call } : {}),
        dryRun,
      });
      const rows = undone.files.map(({ path, result, reason = '' }) => [result, visibleText(path), safeText(reason)]);
      return {
        json: { ...undone, dry_run: dryRun },
        render: (paint) =>
          rows.length === 0
            ? 'It changed no file.\n'
            : renderTable([dryRun ? 'WOULD BE' : 'RESULT', 'FILE', 'WHY'], rows, { paint, columns: context.columns() }),
      };
    });
  },
};
