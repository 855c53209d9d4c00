import type { HandedPipes, Ran, RunResult, Sandbox } from '@palyra/sandbox';
import type { HostEnd, HostOrder, StartedHost } from '@palyra/wasm';
import { createOutgoing } from '../file-tools/outgoing.ts';
import { planHostLaunch } from './host-launch.ts';

/** By what a guest's host is held, as it was measured; for the attestation. */
export type WasmHostAbout = Pick<Ran, 'enforcement' | 'facts'>;

/** On its standard error, in bytes. */
const MOST_COMPLAINTS = 256 * 1024;

/** One WASM host inside Tier C. Does not throw. */
export async function startWasmHost(
  sandbox: Pick<Sandbox, 'plan' | 'run'>,
  { memoryBytes, onOutput }: HostOrder,
): Promise<StartedHost<WasmHostAbout>> {
  const { command, profile } = planHostLaunch(memoryBytes);
  const planned = await sandbox.plan(command, profile);
  // SECURITY: T-20 — no wall, no host: there is no Tier A without the box around it.
  if (planned.kind === 'refused') return planned;
  const stop = new AbortController();
  const outgoing = createOutgoing();
  const begun = Promise.withResolvers<WasmHostAbout>();
  let pipes: HandedPipes | undefined;
  let complained = 0;
  const running = sandbox.run(command, profile, {
    input: outgoing.source,
    signal: stop.signal,
    onStart: ({ facts }) => begun.resolve({ enforcement: planned.plan.enforcement, facts }),
    onOutput(stream, bytes) {
      // The sandbox keeps the buffer; frames are views of a copy that stays as it is.
      if (stream === 'stdout') onOutput(Buffer.from(bytes));
      else complained += bytes.length;
      // SECURITY: T-39 — the sandbox keeps all of it, and one of ours says a few lines when it dies.
      if (complained > MOST_COMPLAINTS) stop.abort();
    },
    // A call is two words: through the launcher they would take twice as long.
    onPipes(handed) {
      pipes = handed;
      handed.listen(onOutput);
      outgoing.pass(handed.write);
    },
  });
  const about = await Promise.race([begun.promise, running]);
  if (!('enforcement' in about) || 'kind' in about) return notStarted(about);
  return {
    kind: 'started',
    host: {
      about,
      write: outgoing.send,
      // What it said last may come after it was told that it has ended.
      ended: running.then(async (result) => {
        await pipes?.ended;
        return endOf(result);
      }),
      kill() {
        outgoing.end();
        stop.abort();
        pipes?.close();
      },
    },
  };
}

function notStarted(result: RunResult): StartedHost<WasmHostAbout> {
  if ('message' in result) return { kind: 'refused', message: result.message, fix: result.fix };
  return {
    kind: 'refused',
    message: endOf(result).message,
    fix: 'Run `palyra doctor` to see what this host enforces.',
  };
}

function endOf(result: RunResult): HostEnd {
  if ('message' in result) return { reason: 'other', message: result.message };
  if (result.kind === 'quota_exceeded' && result.quota === 'memory') {
    return { reason: 'memory', message: 'Its host used more memory than it may.' };
  }
  const said = Buffer.from(result.output.stderr).toString('utf8').trim().split('\n').at(-1) ?? '';
  return { reason: 'other', message: `Its host ended (${result.kind}). ${said.slice(0, 200)}`.trim() };
}
