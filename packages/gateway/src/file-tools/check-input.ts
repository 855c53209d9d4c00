import { asSentence, checkSchema } from '../catalog/check-schema.ts';
import { FILE_TOOLS } from './file-tool-list.ts';
import type { FileToolName } from './worker/protocol.ts';

/** Undefined when the input is what the tool's schema says; else one sentence about the first thing that is not. */
export function whyInvalid(tool: FileToolName, input: unknown): string | undefined {
  const found = FILE_TOOLS.find(({ name }) => name === tool);
  if (found === undefined) return 'There is no such tool.';
  const problem = checkSchema(found.inputSchema, input);
  return problem === undefined ? encodingProblem(input as object) : asSentence(problem);
}

/** Node skips what is not base64, and would write something else than was sent. */
function encodingProblem(input: object): string | undefined {
  const { encoding, content } = input as { readonly encoding?: unknown; readonly content?: unknown };
  if (encoding !== 'base64' || typeof content !== 'string') return undefined;
  return /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(content)
    ? undefined
    : 'The field content is not base64.';
}
