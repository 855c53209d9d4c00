import { type JsonValue, parseJson } from '@palyra/primitives';
import { ClientError } from '../client-error.ts';
import type { Run } from '../run/open-run.ts';
import type { CallOptions } from '../run/pending-call.ts';
import { isCompleted } from '../run/require-completed.ts';
import type { ToolCallResult } from '../run/tool-call-result.ts';
import type { Tool } from '../services/tools.ts';
import { createToolNames, type ToolNames } from './tool-names.ts';

export interface ModelToolOptions {
  /** For every call. */
  readonly call?: Pick<CallOptions, 'signal' | 'taints' | 'onEvent' | 'onOutput'>;
  /** Of each text that a tool gives back: 30,000 unless told. What is left out is left out of the middle. */
  readonly maxCharacters?: number;
  /** Answers calls of tools that are not Palyra's. Without it the model is told that there is no such tool. */
  readonly others?: (call: OtherCall) => string | Promise<string>;
  /** Every result, for programs that keep them. */
  readonly onResult?: (result: ToolCallResult) => void;
}

/** A call of a tool that Palyra knows nothing about, as the model made it. */
export interface OtherCall {
  readonly id: string;
  readonly name: string;
  readonly input: JsonValue;
}

/** One call as a model asks for it. */
export interface ModelCall {
  /** The provider's. */
  readonly id: string;
  readonly name: string;
  /** JSON as the model wrote it, or what the provider made of it. */
  readonly input: { readonly text: string } | { readonly value: JsonValue };
  /** What the model said beside it. Shown to people; decides nothing. */
  readonly says: string;
}

export interface ModelAnswer {
  readonly content: string;
  readonly isError: boolean;
}

export interface ModelTools {
  readonly names: ToolNames;
  /**
   * Proposes it, and says what became of it in words that a model can act upon: a refusal is an answer. Throws `ClientError`
   * when palyrad cannot be reached or the run is over: then no answer would help the model.
   */
  answer(run: Pick<Run, 'call'>, call: ModelCall): Promise<ModelAnswer>;
}

const MOST_CHARACTERS = 30_000;
/** More of it is nothing that a person reads before answering. */
const MOST_SAID = 2_000;

export function createModelTools(tools: readonly Tool[], options: ModelToolOptions = {}): ModelTools {
  const { maxCharacters = MOST_CHARACTERS } = options;
  const names = createToolNames(tools.map(({ name }) => name));
  return {
    names,
    async answer(run, { id, name, input, says }) {
      const read = readInput(input);
      if (read.kind === 'malformed') return failed('invalid_arguments', read.why, 'Write them as one JSON object.');
      const tool = names.forPalyra(name);
      if (tool === undefined) return answerOther({ id, name, input: read.value }, options);
      try {
        const result = await run.call(tool, read.value, { ...options.call, ...saying(says) });
        options.onResult?.(result);
        return answerOf(result, maxCharacters);
      } catch (error) {
        if (!(error instanceof ClientError) || !isAboutTheCall(error)) throw error;
        return failed(error.code, error.message, error.fix);
      }
    },
  };
}

type ReadInput =
  | { readonly kind: 'read'; readonly value: JsonValue }
  | { readonly kind: 'malformed'; readonly why: string };

function readInput(input: ModelCall['input']): ReadInput {
  if ('value' in input) return { kind: 'read', value: input.value };
  // What models write for a tool that takes nothing.
  if (input.text.trim() === '') return { kind: 'read', value: {} };
  try {
    // SECURITY: T-57 — of two keys of one name, what is decided about and what the tool reads could be different ones.
    return { kind: 'read', value: parseJson(input.text) };
  } catch (error) {
    return { kind: 'malformed', why: error instanceof Error ? error.message : 'The arguments are not JSON.' };
  }
}

async function answerOther(call: OtherCall, { others }: ModelToolOptions): Promise<ModelAnswer> {
  if (others !== undefined) return { content: await others(call), isError: false };
  return failed(
    'unknown_tool',
    `There is no tool with the name ${JSON.stringify(call.name)}.`,
    'Use one of the tools.',
  );
}

function saying(says: string): Pick<CallOptions, 'says'> {
  return says === '' ? {} : { says: says.slice(0, MOST_SAID) };
}

/** Of these the model cannot make anything; whoever runs it can. */
const ABOUT_THE_RUN: ReadonlySet<string> = new Set([
  'gateway.run_ended',
  'gateway.run_not_found',
  'daemon.not_authenticated',
  'daemon.stopping',
]);

function isAboutTheCall({ code }: ClientError): boolean {
  return code === 'client.invalid_input' || (!code.startsWith('client.') && !ABOUT_THE_RUN.has(code));
}

function answerOf(result: ToolCallResult, maxCharacters: number): ModelAnswer {
  const { decision, approval, outcome } = result;
  const { kind, ...told } = outcome;
  const isError = !isCompleted(result);
  const about = isError
    ? {
        // Without the words of the policy a model asks for the same again.
        ...(decision.kind === 'allow' ? {} : { reason: decision.reason, policy_ids: decision.policy_ids }),
        ...(decision.fix === undefined ? {} : { fix: decision.fix }),
        ...(approval === undefined ? {} : { approval: approval.outcome }),
      }
    : {};
  return { content: JSON.stringify(shortened({ outcome: kind, ...about, ...told }, maxCharacters)), isError };
}

function failed(code: string, message: string, fix: string | undefined): ModelAnswer {
  return {
    content: JSON.stringify({ outcome: 'refused', code, message, ...(fix === undefined ? {} : { fix }) }),
    isError: true,
  };
}

/** Its beginning and its end: what a program says last is often why it failed. */
function shortened(value: JsonValue, most: number): JsonValue {
  if (typeof value === 'string') return value.length <= most ? value : cut(value, most);
  if (Array.isArray(value)) return value.map((each: JsonValue) => shortened(each, most));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, shortened(each, most)]));
}

function cut(text: string, most: number): string {
  const half = Math.floor(most / 2);
  const note = `\n[${text.length - 2 * half} characters left out]\n`;
  // Whole characters: half of one is no text.
  return `${text.slice(0, half).toWellFormed()}${note}${text.slice(-half).toWellFormed()}`;
}
