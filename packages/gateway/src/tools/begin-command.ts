import { type EgressCall, EgressError } from '@palyra/egress';
import type { JsonObject } from '@palyra/primitives';
import type { Binding, Refusal, RunOptions, RunResult } from '@palyra/sandbox';
import type { ExecuteContext, Readiness, ToolRefusal, ToolResult } from '../catalog/tool.ts';
import {
  beginCallNetwork,
  type CallNetwork,
  type CallNetworkDeps,
  openCallNetwork,
  wantsWayOut,
} from '../connections/call-network.ts';
import type { DecideConnection } from '../connections/decide-connection.ts';
import type { PermittedCall } from '../tool-call/permitted-call.ts';
import { type AttachedFeed, feedAttached } from './attached-input.ts';
import type { ProcessCommand } from './process-command.ts';
import { endOf, toolResultOf } from './process-result.ts';
import type { ProcessRunDeps } from './process-run.ts';
import { timeIsOver } from './time-is-over.ts';
import { toldOutput } from './told-output.ts';

/** What the plan of a command keeps for its run. */
export interface PreparedCommand {
  readonly process: ProcessCommand;
  /** Made when somebody must look at it. Refused: then it runs only where nobody has to. */
  readonly binding: { made?: Promise<Binding | Refusal> };
}

export type CommandDeps = Pick<ProcessRunDeps, 'sandbox' | 'redact' | 'clock'> & CallNetworkDeps;

export interface CommandContext extends Pick<ExecuteContext, 'signal' | 'onOutput' | 'connect' | 'attached'> {
  /** Of a session: who answers where it asks for palyrad itself. */
  readonly door?: NonNullable<EgressCall['door']>;
  /** The box is made at once, and the command waits in it for this. */
  readonly mayBegin?: Promise<void>;
}

/** A command on its way. */
export interface BegunCommand {
  readonly kind: 'begun';
  /** When it is over, and nothing of its connections is left. */
  readonly result: Promise<ToolResult>;
}

/** Opens its way out and has its box made. */
export async function beginCommand(
  call: PermittedCall,
  context: CommandContext,
  deps: CommandDeps,
): Promise<BegunCommand | ToolRefusal> {
  const { sandbox, redact, clock } = deps;
  const { process, binding } = call.plan.prepared as PreparedCommand;
  // SECURITY: T-04 — what somebody looked at runs as these bytes or not at all.
  const needsBytes = call.needsBoundBytes && process.session === undefined;
  const bound = needsBytes ? await (binding.made ?? NOT_LOOKED_AT) : undefined;
  if (bound?.kind === 'refused') return asRefusal(bound);
  const calling = { call, context };
  const begun = await beginCallNetwork(process.network, calling, deps);
  const opened = begun ?? (await openCallNetwork(process.network, calling, deps));
  if (opened.kind === 'refused') return opened;
  const { signal, attached, mayBegin } = context;
  const output = toldOutput(context, { redact, clock, isTerminal: process.command.terminal !== undefined });
  const feed = process.isAttachable && attached !== undefined ? feedAttached(attached, signal) : undefined;
  const runIn = (network: CallNetwork): Promise<RunResult> => {
    const endNetwork = () => void network.end().catch(() => undefined);
    const held = bothOf(mayBegin, network.ready);
    return sandbox
      .run(process.command, process.profile, {
        signal,
        onOutput: output.take,
        // While its paths are looked at: what is attested of its connections is whole when they are ended.
        onEnd: endNetwork,
        ...(feed?.options ?? inputOf(process)),
        ...network.options,
        // Without it a sandbox that waits already can take the command.
        ...(bound === undefined ? {} : { bound }),
        ...(process.session === undefined ? {} : { kept: 'none' as const }),
        ...(held === undefined ? {} : { mayBegin: held }),
      })
      .finally(endNetwork);
  };
  const heard = async (how: ReturnType<typeof endOf>) => {
    feed?.stop();
    await output.end(how);
  };
  const run = async (): Promise<ToolResult> => {
    let network = opened;
    let result = await runIn(network);
    // The proxy died on the way, and nothing has begun: it is started anew, and waited for.
    if (result.kind === 'refused' && (await isLost(network))) {
      const anew = await openCallNetwork(process.network, calling, deps);
      if (anew.kind === 'refused') {
        await heard('whole');
        return anew;
      }
      network = anew;
      result = await runIn(network);
    }
    await heard(endOf(result));
    const told = toolResultOf({
      result,
      isTimeOver: timeIsOver(signal),
      redact: (bytes, how) => redact?.redactBytes(bytes, how) ?? bytes,
      network: await network.end(),
    });
    return withFeed(told, feed);
  };
  const result = run();
  // Heard of by whoever takes it, which may be later.
  result.catch(() => undefined);
  return { kind: 'begun', result };
}

function bothOf(...both: readonly (Promise<void> | undefined)[]): Promise<void> | undefined {
  const asked = both.filter((each) => each !== undefined);
  if (asked.length === 0) return undefined;
  const all = Promise.all(asked).then(() => undefined);
  // Heard of by whoever waits for it.
  all.catch(() => undefined);
  return all;
}

/** Whether what it begins with is not to be had. */
async function isLost({ ready }: CallNetwork): Promise<boolean> {
  return (
    (await ready?.then(
      () => false,
      () => true,
    )) ?? false
  );
}

/** A command that waits in its box while its intent is being recorded. */
export interface ReadyCommand extends Readiness {
  /** For `execute`: from now on it runs, and is ended as that says. */
  take(context: ExecuteContext): Promise<BegunCommand | ToolRefusal>;
}

/** Undefined where it is begun when it is executed. Does not throw. */
export function readyCommand(call: PermittedCall, deps: CommandDeps): ReadyCommand | undefined {
  const { process } = call.plan.prepared as PreparedCommand;
  // Whoever binds credentials may keep a record of it.
  if (deps.credentials !== undefined && wantsWayOut(process.network, deps)) return undefined;
  const ahead = new AbortController();
  const word = Promise.withResolvers<void>();
  let taken: ExecuteContext | undefined;
  // SECURITY: T-22 — nobody is asked before the call has begun: until then nothing is in the box that could connect.
  const connect: DecideConnection = async (target, signal) => {
    if (taken?.connect === undefined) throw new EgressError('egress.closed', 'The call has not begun.');
    return taken.connect(target, signal);
  };
  const { attached } = call.proposed;
  const begun = beginCommand(
    call,
    {
      signal: ahead.signal,
      mayBegin: word.promise,
      onOutput: (stream, bytes) => taken?.onOutput?.(stream, bytes),
      connect,
      ...(attached === undefined ? {} : { attached }),
    },
    deps,
  );
  begun.catch(() => undefined);
  return {
    take(context) {
      taken = context;
      const { signal } = context;
      // With its reason: whether the time was over or somebody cancelled is told by it.
      const end = () => ahead.abort(signal.reason);
      if (signal.aborted) end();
      else signal.addEventListener('abort', end, { once: true });
      word.resolve();
      return begun;
    },
    [Symbol.dispose]() {
      if (taken !== undefined) return;
      ahead.abort('given up');
      void begun.then((given) => (given.kind === 'begun' ? given.result : undefined)).catch(() => undefined);
    },
  };
}

/** A terminal that nobody types into is told so, or whoever reads from it would wait for the end of the call. */
function inputOf({ stdin, command }: ProcessCommand): Pick<RunOptions, 'input'> {
  if (stdin !== undefined) return { input: [Buffer.from(stdin)] };
  return command.terminal === undefined ? {} : { input: [] };
}

/** What was typed is not in the arguments: that something was is on record with the rest. */
function withFeed(result: ToolResult, feed: AttachedFeed | undefined): ToolResult {
  if (feed === undefined || result.kind === 'refused') return result;
  return { ...result, output: { ...(result.output as JsonObject), attached: feed.told() } };
}

/** SECURITY: T-04 — bound before it is shown. Bytes that are looked for only now are not those. */
const NOT_LOOKED_AT: Refusal = {
  kind: 'refused',
  code: 'sandbox.not_bindable',
  message: 'The command was not bound to its bytes before it was approved.',
  fix: 'Propose the call again.',
};

export function asRefusal({ code, message, fix }: Refusal): ToolRefusal {
  return { kind: 'refused', code, message, fix };
}
