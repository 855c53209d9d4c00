import type { Clock } from '@palyra/primitives';
import type { Readiness } from '../catalog/tool.ts';
import type { ConnectionDecider, DecideConnection } from '../connections/decide-connection.ts';
import type { CallEnd } from './call-end.ts';
import { consume, type PermittedCall } from './permitted-call.ts';

export interface ExecuteDeps {
  readonly clock: Clock;
  /** Absent: nothing is asked while a call runs. */
  readonly connections?: ConnectionDecider;
}

/** Runs what was permitted, once. Throws `gateway.not_permitted` for anything else; whatever a tool throws is a result. */
export function createExecute({
  clock,
  connections,
}: ExecuteDeps): (call: PermittedCall, ready?: Readiness) => Promise<CallEnd> {
  return async (call, ready) => {
    // SECURITY: T-01 — checked where it runs, whatever the types said before.
    consume(call);
    const { run, proposed } = call;
    const timer = new AbortController();
    if (call.tool.isSession === true) timer.abort('none');
    const late = clock
      .sleep(run.config.executionTimeoutMs, timer.signal)
      .then(() => true)
      .catch(() => false);
    const stop = new AbortController();
    const asking = connections === undefined || isSilent(call) ? undefined : whenAsked(call, connections);
    // The tools tell the one from the other by it.
    void late.then((isLate) => isLate && stop.abort(new DOMException('The call took too long.', 'TimeoutError')));
    const cancel = () => stop.abort();
    if (call.signal.aborted) cancel();
    call.signal.addEventListener('abort', cancel, { once: true });
    try {
      const result = await call.tool.execute(call, {
        signal: stop.signal,
        ...(ready === undefined ? {} : { ready }),
        ...(asking === undefined ? {} : { connect: asking.connect }),
        ...(proposed.onOutput === undefined || isSilent(call) ? {} : { onOutput: proposed.onOutput }),
        ...(proposed.attached === undefined ? {} : { attached: proposed.attached }),
        ...(proposed.report === undefined ? {} : { report: proposed.report }),
      });
      if (result.kind === 'refused') return result;
      return { kind: 'executed', result };
    } catch {
      return {
        kind: 'executed',
        result: {
          kind: 'unknown_outcome',
          code: 'gateway.tool_fault',
          message: 'The tool failed in a way that it should not; what it did until then is done.',
        },
      };
    } finally {
      call.signal.removeEventListener('abort', cancel);
      // With a word, or an exception with its stack is made of it, for nobody.
      timer.abort('over');
      asking?.end();
    }
  };
}

/** SECURITY: T-32 — of what may not be on record yet nobody hears, and it reaches nobody. */
function isSilent({ tool }: PermittedCall): boolean {
  return tool.changesNothing === true;
}

/** Nothing is made for it before something connects: most calls connect to nothing. */
function whenAsked(
  call: PermittedCall,
  connections: ConnectionDecider,
): { readonly connect: DecideConnection; end(): void } {
  const over: { controller?: AbortController; isOver: boolean } = { isOver: false };
  let decide: DecideConnection | undefined;
  return {
    connect(target, signal) {
      over.controller ??= new AbortController();
      if (over.isOver) over.controller.abort('over');
      decide ??= connections(call, over.controller.signal);
      return decide(target, signal);
    },
    end() {
      over.isOver = true;
      over.controller?.abort('over');
    },
  };
}
