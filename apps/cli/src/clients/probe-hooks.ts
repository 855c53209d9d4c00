import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { type AgentClient, CLIENT_NAMES, canaryMessage, findClient, hasOwnServer, serverPlaces } from '@palyra/agents';
import { type JsonValue, parseJson, visibleText } from '@palyra/primitives';
import type { CommandContext } from '../command.ts';
import { findHome } from '../find-home.ts';
import { askTrust } from './ask-trust.ts';
import { readSettings } from './client-files.ts';
import { type FoundSwitch, findSwitch } from './find-switch.ts';
import { installOptions } from './install-options.ts';
import { runHook } from './run-hook.ts';

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
 * those that skip a hook which nobody trusted; and whether it asks before all of its tools is read in its settings.
 */
export async function probeHooks(context: CommandContext): Promise<readonly ClientCoverage[]> {
  const found = await Promise.all(CLIENT_NAMES.map((name) => probeClient(findClient(name), context)));
  return found.filter((each) => each !== undefined);
}

const HOOK = 'palyra-hook';
/** A hook waits as long as a question lives, half an hour; palyrad answers this message at once. */
const PATIENCE_S = 10;

async function probeClient(client: AgentClient, context: CommandContext): Promise<ClientCoverage | undefined> {
  const { name } = client.profile;
  const texts = settingsOf(client, context).flatMap(stringsIn);
  // Gemini's has a name, too, which is this word alone.
  const command = texts.find((text) => text.includes(HOOK) && text !== HOOK);
  if (command === undefined || client.hooks === undefined) {
    if (!hasServer(client, context)) return undefined;
    return { client: name, coverage: 'mcp_only', state: 'not_tried', says: 'Its own tools do not pass Palyra.' };
  }
  const nonce = randomUUID();
  const patience = AbortSignal.any([context.signal, AbortSignal.timeout(PATIENCE_S * 1000)]);
  const answer = await runHook(command, canaryMessage(client.hooks.before, { nonce, cwd: '/' }), patience);
  if (answer === undefined) {
    const says = `Its hook had no answer from palyrad within ${PATIENCE_S} seconds.`;
    return { client: name, coverage: 'hooked', state: 'dead', says, fix: 'palyra down, then palyra up' };
  }
  const { code, stderr } = answer;
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
  client: AgentClient,
  command: string,
  context: CommandContext,
): Promise<Pick<ClientCoverage, 'state' | 'says' | 'fix'>> {
  const off = client.hooks?.switch === undefined ? undefined : findSwitch(client.hooks.switch, context);
  if (off !== undefined) return switchedOff(client, off);
  const trusted = await whetherTrusted(client, command, context);
  // SECURITY: T-58 — one that is asked after a tool, or before some alone, answers just as well.
  if (trusted.state === 'dead' || (await isAsInstalled(client, context))) return trusted;
  return {
    state: 'dead',
    says: 'palyrad answered its hook, but its settings are not as palyra install leaves them: tools may run, and nobody is asked.',
    fix: `palyra install ${client.profile.name}`,
  };
}

/** SECURITY: T-58 — it answers whoever asks it, and its agent does not. */
function switchedOff(
  { profile: { title } }: AgentClient,
  { path, why }: FoundSwitch,
): Pick<ClientCoverage, 'state' | 'says' | 'fix'> {
  const place = visibleText(path);
  if (why === undefined) {
    const says = `palyrad answered its hook, but ${place} cannot be read: whether ${title} runs its hooks is not known.`;
    return { state: 'dead', says, fix: `Mend ${place}, then palyra doctor.` };
  }
  return {
    state: 'dead',
    says: `${title} does not run its hook, for ${why} in ${place}: its tools run, and nobody is asked.`,
    fix: `Take ${why} out of ${place}, then palyra doctor.`,
  };
}

/** Whether installing it now would change nothing. What cannot be compared is not as it was installed: install says why. */
async function isAsInstalled({ profile: { name }, install }: AgentClient, context: CommandContext): Promise<boolean> {
  try {
    const options = await installOptions(name, findHome(context).home, context);
    return install.edits(options).every(({ path, add }) => {
      const text = readSettings(join(context.userHome(), path));
      return add(text) === text;
    });
  } catch {
    return false;
  }
}

async function whetherTrusted(
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

/** In its own settings, or in those of the directory that the doctor is asked in. */
function hasServer({ profile: { name }, install }: AgentClient, context: CommandContext): boolean {
  const { ofUser, ofProject } = serverPlaces(name);
  const edited = install.edits({ hookCommand: '', timeoutSeconds: 0, mcpCommand: [''] }).map(({ path }) => path);
  const paths = [
    ...[...ofUser, ...edited].map((path) => join(context.userHome(), path)),
    ...ofProject.map((path) => join(context.workingDirectory(), path)),
  ];
  return paths.some((path) => {
    try {
      const text = readSettings(path);
      return text !== undefined && hasOwnServer({ path, text });
    } catch {
      return false;
    }
  });
}

function stringsIn(value: JsonValue): readonly string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(stringsIn);
}
