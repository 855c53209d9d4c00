import type { JsonObject } from '@palyra/primitives';
import type { ToolOutput, ToolRefusal, ToolResult } from '../catalog/tool.ts';
import type { Redactor } from '../redact/create-redactor.ts';

type Masks = Pick<Redactor, 'redactBytes' | 'redactJson'>;

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** What a call put out, as it is kept and told. SECURITY: T-24 — without the secrets that it may have read. */
export function outputOf(result: Exclude<ToolResult, ToolRefusal>, redactor: Masks): JsonObject {
  const { stdout, stderr, output }: ToolOutput = result;
  // SECURITY: T-24 — the end of what is whole is no half of anything: hiding it would tell that a guess began rightly.
  const how = result.kind === 'completed' || result.kind === 'failed' ? 'whole' : 'cut';
  return {
    ...(stdout === undefined ? {} : stream('stdout', redactor.redactBytes(stdout, how))),
    ...(stderr === undefined ? {} : stream('stderr', redactor.redactBytes(stderr, how))),
    ...(output === undefined ? {} : { output: redactor.redactJson(output) }),
  };
}

function stream(name: 'stdout' | 'stderr', bytes: Uint8Array): JsonObject {
  try {
    return { [name]: strict.decode(bytes) };
  } catch {
    return { [`${name}_base64`]: Buffer.from(bytes).toString('base64') };
  }
}
