import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { type AgentClient, CLIENT_NAMES, canaryMessage, findClient } from '@palyra/agents';
import { type JsonValue, parseJson } from '@palyra/primitives';
import type { CommandContext } from '../command.ts';
import { askTrust } from './ask-trust.ts';
import { readSettings } from './client-files.ts';

/** What an agent's settings say of Palyra, and whether that is true. */
export interface ClientCoverage {
  readonly client: string;
  readonly coverage: 'hooked' | 'mcp_only';
  /** Of a hook: whether it answered just now. */
  readonly state: 'alive' | 'dead' | 'not_tried';
  readonly says: string;
  readonly fix?: string;
}

/**
 * Runs each hook as its agent would, with a message that only palyrad can answer. Whether the agent runs it, too, is asked of
 * those that skip a hook which nobody trusted.
 */
export async function probeHooks(context: CommandContext): Promise<readonly ClientCoverage[]> {
  const found = await Promise.all(CLIENT_NAMES.map((name) => probeClient(findClient(name), context)));
  return found.filter((each) => each !== undefined);
}

const HOOK = 'palyra-hook';

async function probeClient(client: AgentClient, context: CommandContext): Promise<ClientCoverage | undefined> {
  const { name } = client.profile;
  const texts = settingsOf(client, context).flatMap(stringsIn);
  const command = texts.find((text) => text.includes(HOOK));
  if (command === undefined || client.hooks === undefined) {
    if (!texts.includes('mcp')) return undefined;
    return { client: name, coverage: 'mcp_only', state: 'not_tried', says: 'Its own tools do not pass Palyra.' };
  }
  const nonce = randomUUID();
  const { code, stderr } = await runHook(command, canaryMessage(client.hooks.before, { nonce, cwd: '/' }));
  const isAlive = code === 2 && stderr.includes(`palyra canary ${nonce}`);
  if (isAlive) return { client: name, coverage: 'hooked', ...(await whetherItRuns(client, command, context)) };
  return {
    client: name,
    coverage: 'hooked',
    state: 'dead',
    says:
      code === 2 ? `Its hook refuses everything: ${stderr.trim()}` : `Its hook ended with ${code}, and its tools run.`,
    fix: code === 2 ? 'palyra up' : `palyra uninstall ${name}, then palyra install ${name}`,
  };
}

/** Of a hook that answers. */
async function whetherItRuns(
  { profile: { title }, hooks }: AgentClient,
  command: string,
  context: CommandContext,
): Promise<Pick<ClientCoverage, 'state' | 'says' | 'fix'>> {
  const answered = { state: 'alive', says: 'palyrad answered its hook.' } as const;
  if (hooks?.trust === undefined) return answered;
  const trust = await askTrust(hooks.trust, command, context);
  if (trust === undefined) {
    return { ...answered, says: `palyrad answered its hook. Whether ${title} runs it could not be asked: see /hooks.` };
  }
  if (trust.kind === 'runs') return { ...answered, says: `palyrad answered its hook, and ${title} trusts it.` };
  return {
    state: 'dead',
    says: `${title} does not run its hook, for ${trust.why}: its tools run, and nobody is asked.`,
    fix: `Start ${title}, type /hooks, trust that of Palyra, then palyra doctor.`,
  };
}

function settingsOf(client: AgentClient, context: CommandContext): readonly JsonValue[] {
  const options = { hookCommand: '', timeoutSeconds: 0, mcpCommand: [''] } as const;
  return client.install.edits(options).flatMap(({ path }) => {
    try {
      const text = readSettings(join(context.userHome(), path));
      return text === undefined ? [] : [parseJson(text)];
    } catch {
      // What cannot be read was not written by us.
      return [];
    }
  });
}

function stringsIn(value: JsonValue): readonly string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(stringsIn);
}

/** With a shell, as agents do: the line ends with `|| exit 2`. */
async function runHook(command: string, message: string): Promise<{ readonly code: number; readonly stderr: string }> {
  const child = spawn('/bin/sh', ['-c', command], { stdio: ['pipe', 'ignore', 'pipe'] });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  child.stdin.on('error', () => undefined).end(message);
  const [code] = (await once(child, 'close')) as [number | null];
  return { code: code ?? -1, stderr };
}
