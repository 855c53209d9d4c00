import { visibleText } from '@palyra/primitives';
import type { CommandDefinition } from '../command.ts';
import { readingJournal } from '../journal-home.ts';
import { renderColumns } from '../render/table.ts';

/** The one that is being written, and those that ended with a recovery. */
export const journalLogs: CommandDefinition = {
  name: 'journal logs',
  group: 'Journal',
  summary: 'List the logs of this home, the newest last',
  details:
    'All but the last ended with palyra journal recover, and are verified with the rest. palyra journal show and ' +
    'palyra journal export take an origin, or its last 4 characters or more, with --log. palyrad need not run.',
  async run(_input, context) {
    const logs = await readingJournal(context, async ({ database }, { formatVkey, listLogs, nodeSha256 }) => {
      const found = await listLogs(database.read);
      const vkeyOf = (rootKey: string) =>
        formatVkey({ name: 'palyra-root', type: 1, publicKey: Buffer.from(rootKey, 'hex') }, nodeSha256);
      return found.map(({ origin, size, pruned, root_key }) => ({
        origin,
        size,
        pruned,
        root_key: vkeyOf(root_key),
      }));
    });
    return {
      json: { logs },
      render: (paint) => {
        const rows = logs.map(({ origin, size }, at) => [
          visibleText(origin),
          String(size),
          at === logs.length - 1 ? 'in use' : 'ended',
        ]);
        const [heading = '', ...lines] = renderColumns([['ORIGIN', 'ENTRIES', 'STATE'], ...rows]);
        return [paint('title', heading), ...lines, ''].join('\n');
      },
    };
  },
};
