import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { canonicalJsonBytes, PrimitivesError, parseJson } from '@palyra/primitives';
import { namesIn, runVectors, type SuiteResult, type VectorOutcome } from './suite.ts';

/**
 * RFC 8785 over the published test data of cyberphone/json-canonicalization: `input/NAME.json` must come out of our
 * parser and our canonicaliser as exactly the bytes of `output/NAME.json`, and of `outhex/NAME.txt` where it exists.
 */
export async function run(directory: string, tell: (line: string) => void = () => {}): Promise<SuiteResult> {
  const inputs = await namesIn(directory, 'input', '.json');
  const outputs = await namesIn(directory, 'output', '.json');
  // An output without an input counts too: a vector must not drop out of the suite unnoticed.
  const names = [...new Set([...inputs, ...outputs])].toSorted();
  const vectors = new Map(names.map((name) => [name, () => checkVector(directory, name)]));
  return runVectors('jcs', vectors, tell);
}

async function checkVector(directory: string, name: string): Promise<VectorOutcome> {
  const input = await contentOf(join(directory, 'input', `${name}.json`));
  const output = await contentOf(join(directory, 'output', `${name}.json`));
  if (input === undefined || output === undefined) {
    return { kind: 'failed', why: `${input === undefined ? 'input' : 'output'}/${name}.json is missing` };
  }
  const hex = await contentOf(join(directory, 'outhex', `${name}.txt`));
  const canonical = canonicalise(input);
  if (canonical.kind !== 'written') return canonical;
  if (!output.equals(canonical.bytes)) return { kind: 'failed', why: differenceOf(canonical.bytes, output) };
  if (hex !== undefined && !bytesOfHex(hex).equals(canonical.bytes)) {
    return { kind: 'failed', why: `outhex/${name}.txt holds other bytes` };
  }
  return { kind: 'passed' };
}

function canonicalise(input: Buffer): VectorOutcome | { readonly kind: 'written'; readonly bytes: Uint8Array } {
  try {
    return { kind: 'written', bytes: canonicalJsonBytes(parseJson(input, { maxLength: input.length })) };
  } catch (error) {
    if (!(error instanceof PrimitivesError)) throw error;
    // Integers that programs disagree about are refused on purpose (T-57).
    const kind = error.code === 'primitives.json_number_range' ? 'unsupported' : 'failed';
    return { kind, why: `${error.code}: ${error.message}` };
  }
}

async function contentOf(file: string): Promise<Buffer | undefined> {
  try {
    return await readFile(file);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

function bytesOfHex(text: Buffer): Buffer {
  return Buffer.from(text.toString('latin1').replaceAll(/\s/g, ''), 'hex');
}

function differenceOf(ours: Uint8Array, theirs: Uint8Array): string {
  const length = Math.min(ours.length, theirs.length);
  let offset = 0;
  while (offset < length && ours[offset] === theirs[offset]) offset += 1;
  return `byte ${offset} differs (we write ${ours.length} bytes, ${theirs.length} are expected)`;
}
