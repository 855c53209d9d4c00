import type { Status } from '@palyra/client';
import type { CommandDefinition } from '../command.ts';
import { withRunningDaemon } from '../reach-daemon.ts';
import type { Paint } from '../render/paint.ts';
import { safeText } from '../render/safe-text.ts';
import { renderColumns } from '../render/table.ts';

/** What is enforced, and from whom whom protects. */
export const status: CommandDefinition = {
  name: 'status',
  group: 'Daemon',
  summary: 'Say what is enforced, and what agents do',
  details:
    'What this host enforces in each tier, who is separated from whom (personal: one user for all; service: palyrad has ' +
    'its own; remote: approvals from another device), and for each agent how much of what it does passes through here.',
  async run(_input, context) {
    return withRunningDaemon(context, 'operator', async ({ client, home }) => {
      const told = await client.status();
      return { json: { home: home.root, ...told }, render: (paint) => renderStatus(told, paint) };
    });
  },
};

const SEPARATIONS: Readonly<Record<string, string>> = {
  personal: 'one user for operator, palyrad and agents: an agent outside the box could read your keys',
  service: 'palyrad has a user of its own: keys, journal and policies are out of the agents’ reach',
  remote: 'approvals come from another device',
};

function renderStatus(told: Status, paint: Paint): string {
  const row = (name: string, text: string) => [paint('title', name.padEnd(11)), safeText(text)];
  const edits = told.has_pending_policy_edits ? ', edits wait for palyra policy apply' : '';
  const rows = [
    row('palyrad', `${told.version}, pid ${told.pid}, since ${told.started_at ?? ''}`),
    row('separation', `${told.separation}: ${SEPARATIONS[told.separation] ?? ''}`),
    row('policy', `${told.preset} ${told.policy_set_sha256.slice(0, 12)}${edits}`),
    row('storage', told.storage),
    row('journal', told.journal_origin),
    row('open', `${told.open_runs} runs, ${told.open_questions} questions`),
    ...told.tiers.map(({ tier, available, says, fix }) =>
      row(`tier ${tier}`, `${available ? 'enforced' : 'NOT AVAILABLE'}: ${says}${fix === undefined ? '' : `. ${fix}`}`),
    ),
    ...told.listeners.map(({ name, address }) => row('listens', `${name} on ${address}`)),
  ];
  const agents = told.agents.map(({ principal, coverage, open_runs: runs, last_seen_at: seen }) => [
    safeText(principal),
    safeText(coverage),
    String(runs),
    seen ?? '',
  ]);
  const table = agents.length === 0 ? [] : ['', ...renderColumns([['AGENT', 'COVERAGE', 'RUNS', 'SEEN'], ...agents])];
  return `${[...rows.map((cells) => cells.join(' ')), ...table].join('\n')}\n`;
}
