import type { ClientInstall } from '../client.ts';
import { addHooks, removeHooks } from '../hook-groups.ts';
import { jsonEdit } from '../json-settings.ts';
import { hasAnotherInJson } from '../shadowed-name.ts';

/** User settings, so that a project cannot take them out. */
export const install: ClientInstall = {
  edits({ hookCommand, timeoutSeconds }) {
    const hook = { type: 'command', command: hookCommand, timeout: timeoutSeconds };
    const entries = {
      PreToolUse: { matcher: '*', hooks: [hook] },
      PostToolUse: { matcher: '*', hooks: [hook] },
      PostToolUseFailure: { matcher: '*', hooks: [hook] },
      SessionEnd: { hooks: [hook] },
    };
    return [
      jsonEdit({
        path: '.claude/settings.json',
        part: { hooks: Object.fromEntries(Object.entries(entries).map(([event, entry]) => [event, [entry]])) },
        add: (document) => addHooks(document, { entries }),
        remove: removeHooks,
      }),
    ];
  },
  servers: { path: '.claude.json', hasAnotherOfOurName: hasAnotherInJson },
  afterwards: [
    'Sessions that run already do not see it: start Claude Code again, and look at /hooks.',
    'For the MCP tools: claude mcp add --scope user palyra -- palyra mcp serve',
  ],
};
