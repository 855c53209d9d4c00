// An agent that has Palyra's MCP server and no hook: its own tools pass nobody, and `palyra doctor` says so.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createTemporaryHome } from '@palyra/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runInProcess } from './cli-in-process.ts';

let person: Awaited<ReturnType<typeof createTemporaryHome>>;

beforeAll(async () => {
  person = await createTemporaryHome();
});
afterAll(() => person[Symbol.asyncDispose]());

async function palyra(...args: readonly string[]) {
  const { PATH = '' } = process.env;
  const variables = { PATH, HOME: person.path, PALYRA_HOME: join(person.path, 'palyra') };
  return runInProcess({ args, cwd: person.path, variables, input: '' });
}

/** As doctor names them, and as it shows them to people. */
async function doctor() {
  const { out } = await palyra('doctor', '--json');
  const { clients } = JSON.parse(out) as { readonly clients: readonly { readonly client: string }[] };
  return { clients, shown: (await palyra('doctor')).out };
}

function settle(path: string, text: string): void {
  mkdirSync(dirname(join(person.path, path)), { recursive: true });
  writeFileSync(join(person.path, path), text);
}

const mcpOnly = (client: string) => ({
  client,
  coverage: 'mcp_only',
  state: 'not_tried',
  says: 'Its own tools do not pass Palyra.',
});

test('nobody is named where nothing of Palyra is, whatever other servers there are', async () => {
  settle('.gemini/settings.json', '{"mcpServers":{"gh":{"command":"gh","args":["mcp"]}}}');
  settle('.claude.json', '{"mcpServers":{"gh":{"command":"gh","args":["mcp","serve"]}}}');
  expect(await doctor()).toMatchObject({ clients: [] });
});

test('an agent that has our server alone is mcp_only: by install, by its own command, or by hand', async () => {
  expect(await palyra('init')).toMatchObject({ exit: 0 });
  expect(await palyra('install', 'opencode', '--yes')).toMatchObject({ exit: 0 });
  expect(await palyra('install', 'vscode', '--yes')).toMatchObject({ exit: 0 });
  const server = { command: 'palyra', args: ['mcp', 'serve'] };
  settle('.claude.json', JSON.stringify({ mcpServers: { palyra: server } }));
  settle('.codex/config.toml', '[mcp_servers.palyra]\ncommand = "palyra"\nargs = ["mcp", "serve"]\n');
  settle('.cursor/mcp.json', JSON.stringify({ mcpServers: { palyra: server } }));
  settle('.gemini/settings.json', JSON.stringify({ mcpServers: { palyra: server } }));
  settle('.config/goose/config.yaml', 'extensions:\n  palyra:\n    cmd: palyra\n    args: [mcp, serve]\n');
  const names = ['claude-code', 'codex', 'cursor', 'gemini', 'goose', 'opencode', 'vscode'];
  const { clients, shown } = await doctor();
  expect(clients.toSorted((one, other) => one.client.localeCompare(other.client))).toEqual(names.map(mcpOnly));
  for (const name of names) expect(shown).toMatch(new RegExp(`${name}.*mcp_only`));
});

test('one that has a hook as well is not', async () => {
  expect(await palyra('install', 'claude-code', '--yes')).toMatchObject({ exit: 0 });
  expect(readFileSync(join(person.path, '.claude/settings.json'), 'utf8')).toContain('palyra-hook');
  const { clients } = await doctor();
  expect(clients.find(({ client }) => client === 'claude-code')).toMatchObject({ coverage: 'hooked' });
});
