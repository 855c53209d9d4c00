import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { connect } from '@palyra/client';
import { run } from '../hooked-agent.ts';
import { OWN_TOOLS } from './own-tools.ts';
import { harmOf, look } from './play-attack.ts';
import type { PlantedAttack, RecordedCall } from './recorded-session.ts';
import type { SessionPlace } from './session-place.ts';

/** The same attack with nobody in between: what it does then. So that what is not found with Palyra is known to be findable. */
export async function playUnguarded(attack: PlantedAttack, place: SessionPlace): Promise<readonly string[]> {
  const { setup = [], call, effect } = attack;
  const act = (each: RecordedCall) => actAlone(each, place);
  for (const each of setup) await act(each);
  const before = look(effect, place);
  if (effect.unanswered === true) return answeredByIt(call, place);
  if (call.meanwhile !== undefined) await act(call.meanwhile);
  return harmOf(effect, { place, before, told: await act(call) });
}

async function actAlone(call: RecordedCall, place: SessionPlace): Promise<string> {
  const { tool, input } = JSON.parse(place.filled(JSON.stringify(call))) as RecordedCall;
  const argv = input['argv'] as readonly string[] | undefined;
  if (argv !== undefined) return host(argv, place);
  if (tool === 'Bash') return host(['bash', '-c', String(input['command'])], place);
  return OWN_TOOLS[tool]?.(input, place.workspace) ?? '';
}

/** In the person's own environment, whose names are those of the session. */
async function host([program = '', ...rest]: readonly string[], place: SessionPlace): Promise<string> {
  const { environment, workspace, hosts } = place;
  const env = { ...environment, http_proxy: `http://127.0.0.1:${hosts.openProxyPort}` };
  const child = spawn(program, rest, { cwd: workspace, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return `${out}${err}`;
}

/** A question of the agent's that only its user should answer. */
async function answeredByIt(call: RecordedCall, place: SessionPlace): Promise<readonly string[]> {
  const { hook, workspace, palyrad } = place;
  using operator = await connect({ home: palyrad.home.root, as: 'operator' });
  const event = { hook_event_name: 'PreToolUse', session_id: 'unguarded', cwd: workspace, tool_input: {} };
  const waiting = run([...hook, '--patience', '60'], JSON.stringify({ ...event, tool_name: 'Teleport' }));
  const watched = new AbortController();
  for await (const change of operator.approvals.watch({ signal: watched.signal })) {
    if (change.kind === 'approval' && change.approval.state === 'pending') break;
  }
  watched.abort();
  await actAlone(call, place);
  const { code } = await waiting;
  return code === 0 ? ['the question is approved'] : [];
}
