import type { CommandDefinition } from '../command.ts';
import { wholeNumber } from '../option-values.ts';
import { withDaemon } from '../reach-daemon.ts';
import { safeText } from '../render/safe-text.ts';
import { renderTable } from '../render/table.ts';

export const runsList: CommandDefinition = {
  name: 'runs list',
  group: 'Agents',
  summary: 'List runs, the newest first',
  options: [
    { flags: '--open', summary: 'Only those that are not over' },
    { flags: '--principal <WHO>', summary: 'Only those of one agent' },
    { flags: '--limit <COUNT>', summary: 'At most this many (20)' },
  ],
  async run({ options }, context) {
    const limit = wholeNumber(options['limit'], { name: '--limit', from: 1, to: 1000 }) ?? 20;
    const { principal } = options;
    return withDaemon(context, 'operator', async ({ client }) => {
      const runs = await client.runs.list({
        limit,
        openOnly: options['open'] === true,
        ...(typeof principal === 'string' ? { principal } : {}),
      });
      const rows = runs.map((run) => [
        run.run_id.slice(-6),
        run.started_at?.slice(0, 19).replace('T', ' ') ?? '',
        run.state,
        String(run.calls),
        String(run.refused),
        safeText(run.principal),
        safeText(run.workspace_root),
      ]);
      return {
        json: { runs },
        render: (paint) =>
          rows.length === 0
            ? 'There is none.\n'
            : renderTable(['RUN', 'BEGAN', 'STATE', 'CALLS', 'REFUSED', 'WHO', 'WHERE'], rows, {
                paint,
                columns: context.columns(),
              }),
      };
    });
  },
};
