import type { ClientWrap } from '../client.ts';
import { install } from './install.ts';

/** Of the system, so its hooks are trusted without being asked about, and nobody can switch them off. */
export const wrap: ClientWrap = {
  settings(options) {
    const [hooks] = install.edits(options);
    const [command, ...args] = options.mcpCommand;
    const servers = ['[mcp_servers.palyra]', `command = ${quoted(command)}`, `args = [${args.map(quoted).join(', ')}]`];
    return [
      { path: '/etc/codex/hooks.json', text: hooks?.add(undefined) ?? '' },
      { path: '/etc/codex/config.toml', text: `${servers.join('\n')}\n` },
      // Its own sandbox needs what our box refuses, and would keep the hook's command from palyrad: ours is around it.
      { path: '/etc/codex/managed_config.toml', text: 'sandbox_mode = "danger-full-access"\n' },
    ];
  },
};

/** TOML's basic strings are JSON's. */
function quoted(text: string): string {
  return JSON.stringify(text);
}
