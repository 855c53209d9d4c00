import type { AgentAnswer } from '@palyra/agents';
import type { Run, ToolCallResult } from '@palyra/gateway';
import { DaemonError } from '../daemon-error.ts';
import type { RunHub } from '../runs/run-hub.ts';
import type { Attendance } from '../runs/run-hubs.ts';
import { type CollectPlaces, collectCommand } from './collect-command.ts';
import type { HeldCommands } from './held-commands.ts';
import { createOutputChannel } from './output-channel.ts';
import type { PendingReport, PendingReports } from './pending-reports.ts';
import type { ActProposal } from './proposal-of-act.ts';
import { refusalOf } from './refusal-of.ts';

export interface AgentSession {
  readonly run: Run;
  readonly reports: PendingReports;
}

export interface RunQuestion {
  readonly proposal: Exclude<ActProposal, { readonly kind: 'none' }>;
  readonly hub: RunHub;
  attend(): Attendance;
  readonly held: HeldCommands;
  readonly places: CollectPlaces;
  /** Of a command, what people may see of it. */
  readonly shown: string;
  readonly reportName: string;
  readonly credential: string;
  readonly agentSays: string | undefined;
  /** Why the agent's user does not want it: then it is proposed to be refused, and to be on record. */
  readonly forbidden: string | undefined;
  /** Aborted when the hook is gone: then nobody acts on the answer. */
  readonly signal: AbortSignal;
}

/** Proposes what the agent's tool would do, and resolves when it is known whether it may. Throws what the run throws. */
export async function askRun({ run, reports }: AgentSession, question: RunQuestion): Promise<AgentAnswer> {
  const { proposal, hub, signal } = question;
  const answer = Promise.withResolvers<AgentAnswer>();
  const key = `hook-${crypto.randomUUID()}`;
  const here = question.attend();
  const giveUp = () => void hub.cancelCall(key);
  const settle = (value: AgentAnswer) => {
    signal.removeEventListener('abort', giveUp);
    answer.resolve(value);
  };
  const report = proposal.kind === 'delegated' ? reports.expect(question.reportName) : undefined;
  const made =
    report === undefined
      ? heldCall(run, { ...question, settle, cancel: () => void hub.cancelCall(key), result: () => result })
      : delegatedCall(run, { report, settle });
  const says = question.agentSays === undefined ? {} : { agentSays: question.agentSays };
  const result: Promise<ToolCallResult> = hub.propose(
    made,
    { key, tool: proposal.tool, input: proposal.input, ...says },
    0,
  );
  if (signal.aborted) giveUp();
  signal.addEventListener('abort', giveUp, { once: true });
  result
    .then(
      (ended) => {
        settle(refusalOf(ended));
        // Of one that was refused nothing will be reported; whoever has reported hears now that it is on record.
        report?.drop();
      },
      (fault: unknown) => {
        answer.reject(fault);
        report?.drop(fault);
      },
    )
    .finally(() => here.leave());
  return answer.promise;
}

type MadeCall = Pick<Run, 'call'>;

interface Delegated {
  readonly report: PendingReport;
  settle(answer: AgentAnswer): void;
}

/** The agent is told when it is waited for, and not before: then the intent is on disk, and kept what it will overwrite. */
function delegatedCall(run: Run, { report, settle }: Delegated): MadeCall {
  return {
    call: (proposed) =>
      run.call({
        ...proposed,
        isKeyNew: true,
        report: {
          next(signal) {
            // SECURITY: T-58 — stopped while it was being recorded: the agent hears no yes, and how it ended when that is known.
            if (!signal.aborted) settle({ kind: 'no_objection' });
            return report.next(signal);
          },
        },
      }),
  };
}

interface Held extends Pick<RunQuestion, 'held' | 'places' | 'shown' | 'credential' | 'forbidden'> {
  settle(answer: AgentAnswer): void;
  cancel(): void;
  result(): Promise<ToolCallResult>;
}

/** SECURITY: T-01 — what runs is what was planned and decided here; the one who comes brings an id, and no command. */
function heldCall(run: Run, { held, places, credential, forbidden, shown, settle, cancel, result }: Held): MadeCall {
  let callId = '';
  const output = createOutputChannel();
  return {
    async call(proposed) {
      try {
        return await run.call({
          ...proposed,
          isKeyNew: true,
          ...(forbidden === undefined ? {} : { forbidden }),
          collected: (signal) => held.hold(callId, { credential, output, cancel, result: result() }, signal),
          onEvent(event) {
            proposed.onEvent?.(event);
            if (event.kind === 'accepted') callId = event.callId;
            if (event.kind === 'permitted') settle(answerOf(collectCommand(callId, places, shown)));
          },
          async onOutput(stream, bytes) {
            // At once and a copy: the next piece comes while this one is waited for, perhaps in the same buffer.
            const taken = output.push({ stream, bytes: new Uint8Array(bytes) });
            await proposed.onOutput?.(stream, bytes);
            await taken;
          },
        });
      } finally {
        output.close();
      }
    },
  };
}

function answerOf(command: string | undefined): AgentAnswer {
  if (command !== undefined) return { kind: 'run_instead', command };
  const error = new DaemonError(
    'daemon.invalid_request',
    'palyra, or its home, is at a path that a shell would change.',
  );
  return { kind: 'refused', reason: `Palyra: ${error.message} Install it where the path has no blanks or quotes.` };
}
