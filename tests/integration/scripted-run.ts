import { create, type MessageInitShape } from '@bufbuild/protobuf';
import {
  type CallInput,
  type CallProposal,
  DecisionKind,
  OutcomeKind,
  OutputStream,
  type RunEvent,
  RunEventSchema,
  type RunStreamRequest,
} from '@palyra/api';

type Happening = NonNullable<MessageInitShape<typeof RunEventSchema>['event']>;

/** What a call of the script sees and does between its proposal and its end. */
export interface ScriptedCall {
  readonly proposal: CallProposal;
  /** When it is cancelled. */
  readonly signal: AbortSignal;
  print(text: string, stream?: OutputStream): void;
  /** The next thing that was sent to it, in words. */
  received(): Promise<string>;
}

/** Its exit code. */
export type Script = (call: ScriptedCall) => Promise<number> | number;

/**
 * One run that keeps palyrad's promises on the wire and runs nothing: events have numbers, whoever resumes is told what came
 * after, one key is one call, and a result is told once on a stream.
 */
export interface ScriptedRun {
  readonly id: string;
  readonly events: readonly RunEvent[];
  readonly isOver: boolean;
  /** How often each key ran. */
  readonly ran: ReadonlyMap<string, number>;
  hear(request: RunStreamRequest, after: bigint): void;
  /** The first event after it, as soon as there is one; undefined when the run is over. */
  next(after: bigint, signal: AbortSignal): Promise<RunEvent | undefined>;
  cancelCall(key: string): void;
  feed(input: CallInput): void;
}

interface KnownCall {
  readonly cancel: AbortController;
  readonly inputs: string[];
  endedAt: bigint | undefined;
}

const FIRST_NUMBER = 2n ** 32n;

export function createScriptedRun(script: Script): ScriptedRun {
  const id = '01M0000000000000000000RUNS';
  const events: RunEvent[] = [];
  const ran = new Map<string, number>();
  const calls = new Map<string, KnownCall>();
  const bells = new Set<() => void>();
  let isOver = false;

  const ring = () => {
    for (const bell of bells) bell();
  };
  const rung = (signal: AbortSignal) =>
    new Promise<void>((resolve) => {
      const bell = () => {
        bells.delete(bell);
        signal.removeEventListener('abort', bell);
        resolve();
      };
      bells.add(bell);
      signal.addEventListener('abort', bell);
    });
  const tell = (event: Happening, key = '') => {
    const sequence = FIRST_NUMBER + BigInt(events.length);
    events.push(create(RunEventSchema, { sequence, callId: key === '' ? '' : `call-of-${key}`, callKey: key, event }));
    ring();
  };
  const end = (outcome: string) => {
    if (isOver) return;
    isOver = true;
    tell({ case: 'runEnded', value: { outcome, calls: calls.size } });
  };

  async function runCall(proposal: CallProposal, known: KnownCall): Promise<void> {
    const { key, tool } = proposal;
    ran.set(key, (ran.get(key) ?? 0) + 1);
    const offsets = new Map<OutputStream, bigint>();
    tell({ case: 'proposalAccepted', value: { tool } }, key);
    tell(
      { case: 'decision', value: { kind: DecisionKind.ALLOW, policyIds: ['in-the-box'], reasonCode: 'allowed' } },
      key,
    );
    tell({ case: 'executionStarted', value: {} }, key);
    const exitCode = await script({
      proposal,
      signal: known.cancel.signal,
      print(text, stream = OutputStream.STDOUT) {
        const data = new TextEncoder().encode(text);
        const offset = offsets.get(stream) ?? 0n;
        offsets.set(stream, offset + BigInt(data.length));
        tell({ case: 'output', value: { stream, data, offset } }, key);
      },
      async received() {
        const { signal } = known.cancel;
        while (known.inputs.length === 0 && !signal.aborted) await rung(signal);
        return known.inputs.shift() ?? 'cancelled';
      },
    });
    known.endedAt = FIRST_NUMBER + BigInt(events.length);
    tellEnd(
      proposal,
      known.cancel.signal.aborted
        ? { kind: OutcomeKind.CANCELLED, code: 'tool.cancelled' }
        : { kind: OutcomeKind.COMPLETED, exitCode },
    );
  }
  function tellEnd(
    { key, tool }: CallProposal,
    outcome: { kind: OutcomeKind; code?: string; exitCode?: number },
  ): void {
    const decision = { kind: DecisionKind.ALLOW, policyIds: ['in-the-box'], reasonCode: 'allowed' };
    tell({ case: 'result', value: { tool, decision, outcome } }, key);
    tell({ case: 'attestation', value: { attestationId: `attestation-of-${key}`, journalSeq: 7n } }, key);
  }
  function propose(proposal: CallProposal, after: bigint): void {
    const known = calls.get(proposal.key);
    if (known === undefined) {
      const begun: KnownCall = { cancel: new AbortController(), inputs: [], endedAt: undefined };
      calls.set(proposal.key, begun);
      void runCall(proposal, begun);
    } else if (known.endedAt !== undefined && known.endedAt <= after) {
      tellEnd(proposal, { kind: OutcomeKind.COMPLETED, exitCode: 0 });
    }
  }
  tell({
    case: 'runStarted',
    value: { runId: id, sessionId: 'session', workspaceId: 'workspace', workspaceRoot: '/w' },
  });

  return {
    id,
    events,
    ran,
    get isOver() {
      return isOver;
    },
    hear({ message }, after) {
      if (message.case === 'propose') propose(message.value, after);
      if (message.case === 'cancelCall') calls.get(message.value.key)?.cancel.abort();
      if (message.case === 'endRun') end('completed');
      if (message.case === 'cancelRun') {
        for (const { cancel } of calls.values()) cancel.abort();
        // The calls tell their ends first.
        setImmediate(() => end('cancelled'));
      }
    },
    feed({ key, input }) {
      calls.get(key)?.inputs.push(inWords(input));
      ring();
    },
    async next(after, signal) {
      while (!signal.aborted) {
        const found = events[after < FIRST_NUMBER ? 0 : Number(after - FIRST_NUMBER) + 1];
        if (found !== undefined || isOver) return found;
        await rung(signal);
      }
      return undefined;
    },
    cancelCall: (key) => calls.get(key)?.cancel.abort(),
  };
}

function inWords(input: CallInput['input']): string {
  switch (input.case) {
    case 'data':
      return new TextDecoder().decode(input.value);
    case 'end':
      return 'end';
    case 'resize':
      return `${input.value.rows}x${input.value.columns}`;
    case 'signal':
      return input.value;
    case undefined:
      return '';
  }
}
