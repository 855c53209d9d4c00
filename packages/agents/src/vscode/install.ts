import type { ClientInstall } from '../client.ts';
import { jsonEdit } from '../json-settings.ts';
import { addServer, removeServer } from '../mcp-servers.ts';

/** Its agent hooks are a preview whose format may change with every release, so only MCP is set up. */
export const install: ClientInstall = {
  edits({ mcpCommand: [command, ...args] }) {
    const server = { type: 'stdio', command, args };
    return [
      jsonEdit({
        path: '.config/Code/User/mcp.json',
        part: { servers: { palyra: server } },
        add: (document) => addServer(document, 'servers', server),
        remove: (document) => removeServer(document, 'servers'),
      }),
    ];
  },
  afterwards: ['The agent’s own tools do not pass Palyra (coverage mcp_only): switch them off where you can.'],
};
