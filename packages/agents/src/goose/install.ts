import type { ClientInstall } from '../client.ts';
import { addHooks, removeHooks } from '../hook-groups.ts';
import { jsonEdit } from '../json-settings.ts';
import { hasAnotherInText } from '../shadowed-name.ts';

const PLUGIN = '.agents/plugins/palyra';
const MANIFEST = { name: 'palyra', version: '0.1.0', description: 'Asks Palyra before every tool call' };

/** A plugin of our own: nobody else's file is touched. */
export const install: ClientInstall = {
  edits({ hookCommand, timeoutSeconds }) {
    const hook = { type: 'command', command: hookCommand, timeout: timeoutSeconds, on_failure: 'block' };
    const { on_failure: _, ...after } = hook;
    const entries = {
      PreToolUse: { matcher: '.*', hooks: [hook] },
      PostToolUse: { matcher: '.*', hooks: [after] },
      PostToolUseFailure: { matcher: '.*', hooks: [after] },
      SessionEnd: { hooks: [after] },
    };
    return [
      jsonEdit({
        path: `${PLUGIN}/plugin.json`,
        part: MANIFEST,
        add: () => MANIFEST,
        remove: () => ({}),
      }),
      jsonEdit({
        path: `${PLUGIN}/hooks/hooks.json`,
        part: { hooks: Object.fromEntries(Object.entries(entries).map(([event, entry]) => [event, [entry]])) },
        add: (document) => addHooks(document, { entries }),
        remove: removeHooks,
      }),
    ];
  },
  servers: { path: '.config/goose/config.yaml', hasAnotherOfOurName: hasAnotherInText },
  afterwards: [
    'goose takes no other command from a hook: each command of its shell is a question, and what it does is not in the box.',
    'For tools that are in the box: goose configure, add an extension of the type command line: palyra mcp serve',
  ],
};
