import type { ClientInstall } from '../client.ts';
import { jsonEdit } from '../json-settings.ts';
import { addServer, removeServer } from '../mcp-servers.ts';

/** Its hooks are functions of plugins that run inside it: none of them can be asked from outside. */
export const install: ClientInstall = {
  edits({ mcpCommand }) {
    const server = { type: 'local', command: [...mcpCommand], enabled: true };
    return [
      jsonEdit({
        path: '.config/opencode/opencode.json',
        part: { mcp: { palyra: server } },
        add: (document) => addServer(document, 'mcp', server),
        remove: (document) => removeServer(document, 'mcp'),
      }),
    ];
  },
  afterwards: ['Its own tools do not pass Palyra (coverage mcp_only): palyra wrap puts all of it into a box.'],
};
