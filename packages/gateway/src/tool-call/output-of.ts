import type { JsonObject } from '@palyra/primitives';
import type { ToolOutput } from '../catalog/tool.ts';
import type { Redactor } from '../redact/create-redactor.ts';

type Masks = Pick<Redactor, 'redactBytes' | 'redactJson'>;

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** What a call put out, as it is kept and told. SECURITY: T-24 — without the secrets that it may have read. */
export function outputOf({ stdout, stderr, output }: ToolOutput, redactor: Masks): JsonObject {
  return {
    ...(stdout === undefined ? {} : stream('stdout', redactor.redactBytes(stdout, 'cut'))),
    ...(stderr === undefined ? {} : stream('stderr', redactor.redactBytes(stderr, 'cut'))),
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
