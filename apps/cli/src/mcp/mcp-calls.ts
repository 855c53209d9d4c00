import { setTimeout as sleep } from 'node:timers/promises';
import type { CallToolResult, Tool as McpTool } from '@modelcontextprotocol/server';
import { createModelTools, type ModelAnswer, type Run, type Tool, type ToolCallResult } from '@palyra/client';
import type { JsonValue } from '@palyra/primitives';
import { CliError } from '../cli-error.ts';

/** The calls of one MCP client. */
export interface McpCalls {
  /** Throws what palyrad throws when it cannot be reached. */
  answer(asked: AskedTool, options: AnswerOptions): Promise<CallToolResult>;
  /** The client is gone: nobody waits for anything any more. */
  close(): Promise<void>;
}

export interface AskedTool {
  readonly name: string;
  readonly input: JsonValue;
}

export interface AnswerOptions {
  /** Aborted when the client cancels this very request. */
  readonly signal: AbortSignal;
  onProgress(message: string): void;
}

export interface McpCallsDeps {
  readonly tools: readonly Tool[];
  startRun(): Promise<Run>;
  readonly patienceMs: number;
}

/** For results that a human had not decided about when the client's patience ended. */
export const AWAIT_TOOL: McpTool = {
  name: 'palyra_await',
  description:
    'Waits for a call that was told as pending because a human is being asked, and returns its result. Takes the id that was told.',
  inputSchema: {
    type: 'object',
    properties: { pending: { type: 'string', description: 'As it was told.' } },
    required: ['pending'],
    additionalProperties: false,
  },
  annotations: { readOnlyHint: true },
};

/** Between two words to a client that waits. */
const PROGRESS_MS = 5_000;

interface UnderWay {
  readonly ended: Promise<Ended>;
  /** The question, once there is one. */
  approvalId: string | undefined;
  readonly asked: Promise<void>;
  cancel(): void;
}

interface Ended {
  readonly answer: ModelAnswer;
  readonly result: ToolCallResult | undefined;
}

export function openMcpCalls({ tools, startRun, patienceMs }: McpCallsDeps): McpCalls {
  let run: Promise<Run> | undefined;
  const pending = new Map<string, UnderWay>();
  const runOnce = () => {
    run ??= startRun();
    // A workspace may be registered meanwhile.
    run.catch(() => {
      run = undefined;
    });
    return run;
  };
  const begin = async ({ name, input }: AskedTool): Promise<UnderWay> => {
    const opened = await runOnce();
    const cancelled = new AbortController();
    const asked = Promise.withResolvers<void>();
    const call: { result: ToolCallResult | undefined } = { result: undefined };
    const made = createModelTools(tools, {
      call: {
        signal: cancelled.signal,
        onEvent(event) {
          if (event.kind !== 'approval_requested') return;
          underWay.approvalId = event.approval_id;
          asked.resolve();
        },
      },
      onResult(result) {
        call.result = result;
      },
    });
    const answered = made.answer(opened, { id: '', name, input: { value: input }, says: '' });
    const underWay: UnderWay = {
      approvalId: undefined,
      asked: asked.promise,
      cancel: () => cancelled.abort(),
      ended: answered.then((answer) => ({ answer, result: call.result })),
    };
    underWay.ended.catch(() => undefined);
    return underWay;
  };
  const wait = async (underWay: UnderWay, { signal, onProgress }: AnswerOptions): Promise<CallToolResult> => {
    if (signal.aborted) underWay.cancel();
    signal.addEventListener('abort', underWay.cancel, { once: true });
    const over = new AbortController();
    void tellWaiting(underWay, onProgress, over.signal);
    const late = sleep(patienceMs, 'late' as const, { signal: over.signal }).catch(() => 'late' as const);
    try {
      let first = await Promise.race([underWay.ended, late]);
      // Only a human is not waited for, whenever one is asked: what runs has its own limit.
      if (first === 'late') first = await Promise.race([underWay.ended, underWay.asked.then(() => 'late' as const)]);
      return first === 'late' ? keepPending(underWay) : toldOf(first);
    } finally {
      over.abort();
      signal.removeEventListener('abort', underWay.cancel);
    }
  };
  const keepPending = (underWay: UnderWay): CallToolResult => {
    const id = underWay.approvalId ?? '';
    pending.set(id, underWay);
    const text = `A human is being asked (palyra approve ${id.slice(-6)}). Call palyra_await with {"pending":"${id}"} to wait on, or go on with something else.`;
    return { content: [{ type: 'text', text }], structuredContent: { pending: { id, approval_id: id } } };
  };
  return {
    async answer(asked, options) {
      if (asked.name !== AWAIT_TOOL.name) return wait(await begin(asked), options);
      const id = Object(asked.input).pending;
      const known = typeof id === 'string' ? pending.get(id) : undefined;
      if (known === undefined) throw new CliError('cli.not_found', 'No call of this client is pending under this id.');
      pending.delete(id);
      return wait(known, options);
    },
    async close() {
      for (const { cancel } of pending.values()) cancel();
      const opened = await run?.catch(() => undefined);
      // Whatever is under way, and asked, ends with its client.
      await opened?.cancel().catch(() => undefined);
    },
  };
}

async function tellWaiting(underWay: UnderWay, tell: (message: string) => void, over: AbortSignal): Promise<void> {
  await underWay.asked;
  while (!over.aborted) {
    tell(`Waiting for a human: palyra approve ${underWay.approvalId?.slice(-6)}`);
    await sleep(PROGRESS_MS, undefined, { signal: over }).catch(() => undefined);
  }
}

function toldOf({ answer, result }: Ended): CallToolResult {
  return {
    content: [{ type: 'text', text: answer.content }],
    ...(result === undefined ? {} : { structuredContent: { ...result } }),
    isError: answer.isError,
  };
}
