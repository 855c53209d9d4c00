import type { CallEvent, Gateway, ProposedCall, Run, ToolCallResult } from '@palyra/gateway';

/** What runs in this process, for whoever must wait for it. */
export interface CallWatch {
  /** Calls that were proposed and have no end yet. */
  readonly underWay: number;
  /** Of them, those whose tool runs; the others are being decided, or wait for a human. */
  readonly executing: number;
  /** Resolves when no tool runs. */
  idle(): Promise<void>;
}

/** Told of one call; must not throw. */
export interface CallObserver {
  proposed(call: { readonly run: string; readonly tool: string }): ObservedCall;
}

export interface ObservedCall {
  step(event: CallEvent): void;
  /** Of one whose start is told with its end only. */
  begun?(): void;
  /** Undefined: it could not be taken, or its outcome could not be recorded. */
  ended(result: ToolCallResult | undefined): void;
}

/** The same gateway, with somebody looking on. */
export function watchCalls(
  gateway: Gateway,
  observers: readonly CallObserver[],
): { readonly gateway: Gateway; readonly calls: CallWatch } {
  let underWay = 0;
  let executing = 0;
  let waiting: (() => void)[] = [];
  const tellIdle = () => {
    if (executing > 0) return;
    for (const tell of waiting) tell();
    waiting = [];
  };
  const counting: CallObserver = {
    proposed() {
      underWay += 1;
      let runs = 0;
      const begun = () => {
        executing += 1 - runs;
        runs = 1;
      };
      return {
        begun,
        step({ kind }) {
          if (kind === 'started') begun();
        },
        ended() {
          underWay -= 1;
          executing -= runs;
          tellIdle();
        },
      };
    },
  };
  const all = [counting, ...observers];
  const watched = (run: Run): Run => ({ ...run, call: (proposed) => observe(run, proposed, all) });
  return {
    gateway: {
      ...gateway,
      startRun: async (caller, request) => watched(await gateway.startRun(caller, request)),
      resumeRun: async (caller, id) => watched(await gateway.resumeRun(caller, id)),
    },
    calls: {
      get underWay() {
        return underWay;
      },
      get executing() {
        return executing;
      },
      idle: () => (executing === 0 ? Promise.resolve() : new Promise((resolve) => void waiting.push(resolve))),
    },
  };
}

async function observe(
  run: Run,
  proposed: Omit<ProposedCall, 'run'>,
  observers: readonly CallObserver[],
): Promise<ToolCallResult> {
  const observed = observers.map((each) => each.proposed({ run: run.id, tool: proposed.tool }));
  let result: ToolCallResult | undefined;
  try {
    result = await run.call({
      ...proposed,
      onEvent(event) {
        for (const each of observed) each.step(event);
        proposed.onEvent?.(event);
      },
      onBegun() {
        for (const each of observed) each.begun?.();
        proposed.onBegun?.();
      },
    });
    return result;
  } finally {
    for (const each of observed) each.ended(result);
  }
}
