import { type Client, connect } from '@palyra/client';
import { rewritten, run, type Said } from '../hooked-agent.ts';
import { OWN_TOOLS } from './own-tools.ts';
import type { AttackCall, RecordedCall } from './recorded-session.ts';
import type { SessionPlace } from './session-place.ts';

/** What became of one call, as the agent sees it. */
export interface PlayedCall {
  readonly kind: 'done' | 'failed' | 'refused';
  /** Of a command. */
  readonly exit?: number | string | undefined;
  /** All that the agent was told. */
  readonly told: string;
}

/** Plays calls of one session of an agent, through its hook. */
export interface SessionPlayer extends Disposable {
  play(call: AttackCall): Promise<PlayedCall>;
  end(): Promise<void>;
}

export interface PlayerOptions {
  /** So many of the commands are fetched by the program that the agent is told to run; the others by the client, as `palyra exec --call` does. */
  readonly byProgram?: number;
}

const SESSION = 'e1a6c1f4-7d15-4c3a-9a53-4c1d3f1f8a10';

export async function openPlayer(
  place: SessionPlace,
  { byProgram: most = 0 }: PlayerOptions = {},
): Promise<SessionPlayer> {
  const { hook, workspace } = place;
  const agent = await connect({ home: place.palyrad.home.root, as: 'agent' });
  const background: AbortController[] = [];
  let calls = 0;
  let commands = 0;
  const say = (event: object) =>
    run([...hook, '--patience', '60'], JSON.stringify({ session_id: SESSION, cwd: workspace, ...event }));
  const collect = (command: string, signal?: AbortSignal) => {
    commands += 1;
    return commands > most || signal !== undefined ? fetched(agent, command, signal) : byProgram(command);
  };
  const shell = async (input: RecordedCall['input'], before: Said): Promise<PlayedCall> => {
    const command = rewritten(before);
    if (input['run_in_background'] !== true) return collect(command);
    const stop = new AbortController();
    background.push(stop);
    void collect(command, stop.signal);
    return { kind: 'done', told: 'running in the background' };
  };
  const own = async (tool: string, input: RecordedCall['input']): Promise<PlayedCall> => {
    if (tool === 'KillShell') background.pop()?.abort();
    if (tool === 'WebFetch') return { kind: 'done', told: await page(String(input['url'])) };
    try {
      return { kind: 'done', told: OWN_TOOLS[tool]?.(input, workspace) ?? '' };
    } catch (error) {
      return { kind: 'failed', told: String(error) };
    }
  };
  return {
    async play(call) {
      const { tool, input } = JSON.parse(place.filled(JSON.stringify(call))) as typeof call;
      if (call.network !== undefined) return ours(agent, { ...call, input }, place);
      calls += 1;
      const id = `toolu_${String(calls).padStart(6, '0')}`;
      const event = { tool_name: tool, tool_input: input, tool_use_id: id };
      const before = await say({ hook_event_name: 'PreToolUse', ...event });
      if (before.code !== 0) return { kind: 'refused', told: before.stderr };
      const played = tool === 'Bash' ? await shell(input, before) : await own(tool, input);
      const after =
        played.kind === 'failed'
          ? { hook_event_name: 'PostToolUseFailure', error: played.told }
          : { hook_event_name: 'PostToolUse', tool_response: { stdout: played.told } };
      await say({ ...event, ...after });
      return played;
    },
    async end() {
      for (const each of background) each.abort();
      await say({ hook_event_name: 'SessionEnd', reason: 'exit' });
    },
    [Symbol.dispose]: () => agent.close(),
  };
}

async function fetched(agent: Client, command: string, signal?: AbortSignal): Promise<PlayedCall> {
  let told = '';
  const onOutput = ({ data }: { readonly data: Uint8Array }) => {
    told += Buffer.from(data).toString();
  };
  try {
    const { outcome } = await agent.collect(command.split(' ').at(-1) ?? '', {
      onOutput,
      ...(signal === undefined ? {} : { signal }),
    });
    const kind = outcome.kind === 'completed' ? 'done' : outcome.kind === 'refused' ? 'refused' : 'failed';
    return { kind, exit: outcome.exit_code, told: kind === 'done' ? told : `${told}\n${JSON.stringify(outcome)}` };
  } catch (error) {
    return { kind: 'failed', told: `${told}\n${String(error)}` };
  }
}

async function byProgram(command: string): Promise<PlayedCall> {
  const { code, stdout, stderr } = await run(['/bin/sh', '-c', command]);
  return { kind: 'done', exit: code ?? 'killed', told: `${stdout}${stderr}` };
}

/** A command by Palyra's own MCP tool: the agent names hosts, so that its bytes are shown and bound. */
async function ours(
  agent: Client,
  { input, network = [] }: AttackCall,
  { workspace, filled }: SessionPlace,
): Promise<PlayedCall> {
  await using own = await agent.startRun({ workspace, surface: 'mcp' });
  const { outcome } = await own.call('palyra.process.run', { ...input, network: network.map(filled) });
  const kind = outcome.kind === 'completed' ? 'done' : outcome.kind === 'refused' ? 'refused' : 'failed';
  return { kind, exit: outcome.exit_code, told: JSON.stringify(outcome) };
}

/** As the agent's own program fetches it; its names are loopback here. */
async function page(url: string): Promise<string> {
  const { hostname, port, pathname } = new URL(url);
  const { stdout } = await run([
    'curl',
    '-sS',
    '--resolve',
    `${hostname}:${port}:127.0.0.1`,
    `http://${hostname}:${port}${pathname}`,
  ]);
  return stdout;
}
