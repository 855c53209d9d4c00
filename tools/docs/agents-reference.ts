import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { findWrapped, WRAP_PROFILES } from '@palyra/agents';

const PAGE = fileURLToPath(new URL('../../docs/reference/agents.md', import.meta.url));
const START = '<!-- generated: profiles -->';
const END = '<!-- end -->';

/** docs/reference/agents.md: written by hand, with the profiles from their sources between its marks. */
export function renderAgentsReference(): string {
  const page = readFileSync(PAGE, 'utf8');
  const [from, until] = [page.indexOf(START), page.indexOf(END)];
  if (from === -1 || until === -1) throw new Error('docs/reference/agents.md has no place for profiles.');
  return `${page.slice(0, from)}${START}\n${profiles()}\n${page.slice(until)}`;
}

function profiles(): string {
  const rows = WRAP_PROFILES.flatMap((name) => {
    const agent = findWrapped(name);
    if (agent === undefined) return [];
    const { program, hosts, state } = agent.profile;
    const cells = [
      `\`${name}\`${program === '' || program === name ? '' : ` (\`${program}\`)`}`,
      agent.hooks === undefined ? 'no' : agent.hooks.canRewrite ? 'yes' : 'decided, not rewritten',
      listed(hosts),
      listed(state.writable),
      listed(state.copied),
      listed(state.readOnly),
    ];
    return [`| ${cells.join(' | ')} |`];
  });
  return ['| Profile | Hooks | Hosts | Kept | Forgotten | Read-only |', '|---|---|---|---|---|---|', ...rows].join(
    '\n',
  );
}

function listed(items: readonly string[]): string {
  return items.length === 0 ? '–' : items.map((item) => `\`${item}\``).join(', ');
}
