import { describe, expect, test } from 'vitest';
import { CLIENT_NAMES, findClient } from './find-client.ts';

const OPTIONS = {
  hookCommand: '/opt/palyra-hook x --home /h --palyra /opt/palyra --patience 1830 || exit 2',
  timeoutSeconds: 1860,
  mcpCommand: ['/opt/palyra', 'mcp', 'serve'],
} as const;

/** Where not just any field can be. */
const THEIRS: Readonly<Record<string, string>> = {
  '.codex/hooks.json': '{\n    "description": "x"\n}\n',
  '.cursor/hooks.json': '{\n    "version": 1,\n    "hooks": {\n        "stop": []\n    }\n}\n',
};

describe.each(CLIENT_NAMES)('%s', (client) => {
  const edits = findClient(client).install.edits(OPTIONS);

  test.each(edits.map((edit) => [edit.path, edit] as const))('%s comes and goes, and comes once', (_path, edit) => {
    const made = edit.add(undefined);
    expect(edit.add(made)).toBe(made);
    expect(edit.remove(made)).toBeUndefined();
  });

  test('what others have there stays, in its place', () => {
    for (const edit of edits.filter(({ path }) => !path.includes('plugins/palyra'))) {
      const before = THEIRS[edit.path] ?? '{\n    "theirs": "x"\n}\n';
      const made = edit.add(before);
      expect(made.split('\n').slice(0, 2), `in ${edit.path}`).toEqual(
        before.replace('"x"\n', '"x",\n').split('\n').slice(0, 2),
      );
      expect(edit.remove(made), `in ${edit.path}`).toBe(before);
    }
  });

  test.each([
    ['comments', '{\n  // mine\n  "a": 1\n}\n'],
    ['a list', '[]'],
    ['two values for one key', '{"hooks":{},"hooks":{"PreToolUse":[]}}'],
    ['hooks that are no object', '{"hooks":[],"mcpServers":[],"mcp":[],"servers":[]}'],
  ])('settings with %s are left alone', (_what, text) => {
    const [edit] = edits.filter(({ path }) => !path.endsWith('plugin.json'));
    expect(() => edit?.add(text)).toThrow(expect.objectContaining({ code: 'agents.unknown_format' }));
  });

  test('nothing in it allows anything', () => {
    for (const edit of edits) expect(edit.add(undefined)).not.toMatch(/"(?:allow|permissions|trusted?|alwaysAllow)"/);
  });
});

test('every hook ends with the blocking answer, and waits longer than a human is asked', () => {
  for (const client of ['claude-code', 'codex', 'cursor', 'gemini', 'goose']) {
    const text = findClient(client)
      .install.edits(OPTIONS)
      .map((edit) => edit.add(undefined))
      .join('\n');
    expect(text, `for ${client}`).toContain('|| exit 2');
    expect(text, `for ${client}`).toMatch(client === 'gemini' ? /"timeout": 1860000/ : /"timeout": 1860/);
  }
});

test('another server of our name is not replaced', () => {
  const [, mcp] = findClient('cursor').install.edits(OPTIONS);
  expect(() => mcp?.add('{"mcpServers":{"palyra":{"command":"evil"}}}')).toThrow(
    expect.objectContaining({ code: 'agents.unknown_format' }),
  );
});

test.each([
  ['claude-code', '{"mcpServers":{"palyra":{"command":"/opt/palyra","args":["mcp","serve"]}}}', false],
  ['claude-code', '{"mcpServers":{"palyra":{"type":"stdio","command":"palyra","args":["mcp","serve"]}},"n":1}', false],
  ['claude-code', '{"mcpServers":{"other":{"command":"x"}},"projects":{"/palyra":{}}}', false],
  ['claude-code', '{"mcpServers":{"palyra":{"command":"evil"}}}', true],
  ['claude-code', '{"mcpServers":{"palyra":{"type":"http","url":"https://evil.example"}}}', true],
  ['claude-code', '{"projects":{"/p":{"mcpServers":{"palyra":{"command":"palyra","args":["x"]}}}}}', true],
  ['claude-code', '{"mcpServers":{"palyra":', true],
  ['codex', 'model = "x"\n[mcp_servers.palyra]\ncommand = "palyra"\nargs = ["mcp", "serve"]\n', false],
  ['codex', '[mcp_servers.other]\ncommand = "palyra-like"\n# palyra = {\n', false],
  ['codex', '[mcp_servers.palyra]\ncommand = "evil"\n[x]\ncommand = "palyra"\nargs = ["mcp", "serve"]\n', true],
  ['codex', '[mcp_servers."palyra"]\nurl = "https://evil.example"\n', true],
  ['codex', '[mcp_servers]\npalyra = { command = "evil", args = ["mcp", "serve"] }\n', true],
  ['codex', 'mcp_servers.palyra.command = "evil"\n', true],
  ['goose', 'extensions:\n  palyra:\n    cmd: palyra\n    args:\n      - mcp\n      - serve\n', false],
  ['goose', 'extensions:\n  palyra:\n    cmd: evil\n    args: []\n', true],
])('%s: a server of our name that is not ours is found: %s', (client, text, isFound) => {
  expect(findClient(client).install.servers?.hasAnotherOfOurName(text, OPTIONS.mcpCommand)).toBe(isFound);
});
