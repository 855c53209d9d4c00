import type { CallInput, CallProposal } from '@palyra/api';
import type { AttachedInput } from '@palyra/gateway';
import { isPassedSignal } from '@palyra/sandbox';
import { DaemonError } from '../daemon-error.ts';
import type { Proposal } from '../runs/run-hub.ts';

/** A key is shown, logged and kept with the call: visible, and not long. */
const KEY = /^[!-~]{1,128}$/;
const TOOL = /^[\w.:/-]{1,256}$/;
const MOST_SAID = 4096;
const MOST_TAINTS = 64;

/** Throws `daemon.invalid_request`. What the tool takes is for its schema to say. */
export function proposalOf(proposal: CallProposal | undefined): Proposal {
  if (proposal === undefined) throw invalid('There is no call in it.');
  const { key, tool, inputJson: input, agentSays, taints } = proposal;
  checkKey(key);
  if (!TOOL.test(tool)) throw invalid('The name of a tool is such as palyra.process.run.');
  if (agentSays.length > MOST_SAID) throw invalid(`What an agent says has at most ${MOST_SAID} characters.`);
  if (taints.length > MOST_TAINTS || taints.some((taint) => !KEY.test(taint))) {
    throw invalid(`There are at most ${MOST_TAINTS} taints, each a word.`);
  }
  return { key, tool, input, ...(agentSays === '' ? {} : { agentSays }), ...(taints.length === 0 ? {} : { taints }) };
}

export interface KeyedInput {
  readonly key: string;
  readonly input: AttachedInput;
}

/** Throws `daemon.invalid_request`. */
export function sentInputOf(sent: CallInput | undefined): KeyedInput {
  if (sent === undefined) throw invalid('There is no input in it.');
  const { key, input } = sent;
  checkKey(key);
  switch (input.case) {
    case 'data':
      return { key, input: { kind: 'bytes', bytes: input.value } };
    case 'end':
      return { key, input: { kind: 'end' } };
    case 'resize':
      return { key, input: { kind: 'resize', rows: input.value.rows, columns: input.value.columns } };
    case 'signal':
      if (!isPassedSignal(input.value)) throw invalid('This signal is not passed on.', 'Cancel the call to end it.');
      return { key, input: { kind: 'signal', name: input.value } };
    case undefined:
      throw invalid('There is nothing in the input.');
  }
}

function checkKey(key: string): void {
  if (!KEY.test(key))
    throw invalid('A key has 1 to 128 visible ASCII characters.', 'Give every call a key of its own.');
}

export function invalid(message: string, fix?: string): DaemonError {
  return new DaemonError('daemon.invalid_request', message, fix === undefined ? {} : { fix });
}
