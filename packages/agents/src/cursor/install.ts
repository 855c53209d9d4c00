import type { ClientInstall } from '../client.ts';
import { addHooks, removeHooks } from '../hook-groups.ts';
import { jsonEdit, unknownFormat } from '../json-settings.ts';
import { addServer, removeServer } from '../mcp-servers.ts';

const VERSION = 1;
const EVENTS = ['preToolUse', 'postToolUse', 'postToolUseFailure', 'sessionEnd'] as const;

export const install: ClientInstall = {
  edits({ hookCommand, timeoutSeconds, mcpCommand: [command, ...args] }) {
    const entry = { command: hookCommand, timeout: timeoutSeconds, failClosed: true };
    const entries = Object.fromEntries(EVENTS.map((event) => [event, entry]));
    const server = { command, args };
    return [
      jsonEdit({
        path: '.cursor/hooks.json',
        part: { version: VERSION, hooks: Object.fromEntries(EVENTS.map((event) => [event, [entry]])) },
        add(document) {
          const { version = VERSION } = document;
          if (version !== VERSION) throw unknownFormat('hooks.json is of a version that is not known here.');
          return addHooks({ ...document, version }, { entries });
        },
        remove(document) {
          const { version: _, ...rest } = removeHooks(document);
          // A version of nothing: there was no such file before.
          return Object.keys(rest).length === 0 ? {} : removeHooks(document);
        },
      }),
      jsonEdit({
        path: '.cursor/mcp.json',
        part: { mcpServers: { palyra: server } },
        add: (document) => addServer(document, 'mcpServers', server),
        remove: (document) => removeServer(document, 'mcpServers'),
      }),
    ];
  },
  afterwards: ['Start Cursor again; its settings list the hooks under Hooks.'],
};
