import type { ClientInstall } from '../client.ts';
import { addHooks, removeHooks } from '../hook-groups.ts';
import { jsonEdit, unknownFormat } from '../json-settings.ts';
import { hasAnotherInToml } from '../shadowed-name.ts';

/** Of the root Codex takes no other field: with one that it does not know it refuses the file, hooks and all. */
const ROOT: ReadonlySet<string> = new Set(['description', 'hooks']);

export const install: ClientInstall = {
  edits({ hookCommand, timeoutSeconds }) {
    const hook = { type: 'command', command: hookCommand, timeout: timeoutSeconds };
    const entries = { PreToolUse: { matcher: '.*', hooks: [hook] }, PostToolUse: { matcher: '.*', hooks: [hook] } };
    return [
      jsonEdit({
        path: '.codex/hooks.json',
        part: { hooks: { PreToolUse: [entries.PreToolUse], PostToolUse: [entries.PostToolUse] } },
        add(document) {
          const odd = Object.keys(document).find((name) => !ROOT.has(name));
          if (odd !== undefined) throw unknownFormat(`hooks.json has a field that is not known here: ${odd}`);
          return addHooks(document, { entries });
        },
        remove: removeHooks,
      }),
    ];
  },
  servers: { path: '.codex/config.toml', hasAnotherOfOurName: hasAnotherInToml },
  afterwards: [
    // SECURITY: T-58 — an untrusted hook is skipped without a word, so nobody may believe that it is on.
    'Codex runs no hook that you have not trusted, and says nothing: start codex, type /hooks, and trust this one. Then palyra doctor.',
    'Codex keeps what it runs off the network, palyrad with it: where its sandbox is on, set network_access = true under [sandbox_workspace_write] in ~/.codex/config.toml. The box has rules of its own.',
    'For the MCP tools: codex mcp add palyra -- palyra mcp serve',
  ],
};
