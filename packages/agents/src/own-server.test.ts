import { expect, test } from 'vitest';
import { hasOwnServer } from './own-server.ts';

test.each([
  ['.claude.json', '{"mcpServers":{"palyra":{"command":"palyra","args":["mcp","serve"]}}}'],
  [
    '.claude.json',
    '{"projects":{"/x":{"mcpServers":{"palyra":{"command":"/opt/palyra","args":["mcp","serve","--home","/h"]}}}}}',
  ],
  ['opencode.json', '{"mcp":{"palyra":{"type":"local","command":["/opt/palyra","mcp","serve"]}}}'],
  ['mcp.json', '{"servers":{"palyra":{"type":"stdio","command":"palyra","args":["mcp","serve"]}}}'],
  [
    'config.toml',
    '[mcp_servers.other]\ncommand = "x"\n\n[mcp_servers.palyra]\ncommand = "palyra"\nargs = ["mcp", "serve"]\n',
  ],
  ['config.yaml', 'extensions:\n  palyra:\n    type: stdio\n    cmd: palyra\n    args:\n      - mcp\n      - serve\n'],
])('our server is found in %s: %s', (path, text) => {
  expect(hasOwnServer({ path, text })).toBe(true);
});

test.each([
  ['.claude.json', '{"mcpServers":{"other":{"command":"palyra","args":["mcp"]}}}'],
  ['.claude.json', '{"mcpServers":{"palyra":{"command":"evil","args":["serve"]}}}'],
  ['.claude.json', '{"projects":{"/home/ada/palyra":{"history":["mcp","serve"]}}}'],
  ['.claude.json', '{"mcpServers":{"palyra":'],
  ['config.toml', '# [mcp_servers.palyra]\n# args = ["mcp", "serve"]\n'],
  ['config.toml', '[mcp_servers.palyra]\ncommand = "x"\n\n[mcp_servers.other]\nargs = ["mcp", "serve"]\n'],
  ['config.yaml', 'extensions:\n  other:\n    cmd: palyra\n'],
])('nothing else is taken for it in %s: %s', (path, text) => {
  expect(hasOwnServer({ path, text })).toBe(false);
});
