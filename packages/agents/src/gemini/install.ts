import type { ClientInstall } from '../client.ts';
import { addHooks, removeHooks } from '../hook-groups.ts';
import { jsonEdit } from '../json-settings.ts';
import { addServer, removeServer } from '../mcp-servers.ts';

export const install: ClientInstall = {
  edits({ hookCommand, timeoutSeconds, mcpCommand: [command, ...args] }) {
    // In milliseconds, unlike everybody else's.
    const hook = { name: 'palyra-hook', type: 'command', command: hookCommand, timeout: timeoutSeconds * 1000 };
    const entries = {
      BeforeTool: { matcher: '.*', hooks: [hook] },
      AfterTool: { matcher: '.*', hooks: [hook] },
      SessionEnd: { hooks: [hook] },
    };
    const server = { command, args };
    return [
      jsonEdit({
        path: '.gemini/settings.json',
        part: {
          hooks: Object.fromEntries(Object.entries(entries).map(([event, entry]) => [event, [entry]])),
          mcpServers: { palyra: server },
        },
        add: (document) => addServer(addHooks(document, { entries }), 'mcpServers', server),
        remove: (document) => removeServer(removeHooks(document), 'mcpServers'),
      }),
    ];
  },
  afterwards: ['Start Gemini CLI again; /hooks shows it. Where hooks are off, set hooks.enabled in its settings.'],
};
