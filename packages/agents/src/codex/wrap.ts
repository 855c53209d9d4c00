import type { ClientWrap } from '../client.ts';
import { install } from './install.ts';

const MANAGED = [
  // Its own sandbox needs what our box refuses, and would keep the hook's command from palyrad: ours is around it.
  'sandbox_mode = "danger-full-access"',
  '[features]',
  // Without a subcommand it speaks with a server of its own by a socket of a kind that the box has not, and ends.
  'daemon_auto_start = false',
];

/** Of the system, so its hooks are trusted without being asked about, and nobody can switch them off. */
export const wrap: ClientWrap = {
  settings(options) {
    const [hooks] = install.edits(options);
    const [command, ...args] = options.mcpCommand;
    const servers = ['[mcp_servers.palyra]', `command = ${quoted(command)}`, `args = [${args.map(quoted).join(', ')}]`];
    return [
      { path: '/etc/codex/hooks.json', text: hooks?.add(undefined) ?? '' },
      { path: '/etc/codex/config.toml', text: `${servers.join('\n')}\n` },
      { path: '/etc/codex/managed_config.toml', text: `${MANAGED.join('\n')}\n` },
    ];
  },
};

/** TOML's basic strings are JSON's. */
function quoted(text: string): string {
  return JSON.stringify(text);
}
