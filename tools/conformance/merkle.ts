import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { PrimitivesError, parseJson } from '@palyra/primitives';
import { bytesOfBase64 } from '../../packages/journal/src/format/bytes.ts';
import { provesConsistency, provesInclusion } from '../../packages/journal/src/format/merkle-proof.ts';
import { nodeSha256 } from '../../packages/journal/src/node-crypto.ts';
import { ConformanceError, runVectors, type SuiteResult, type VectorOutcome } from './suite.ts';

/**
 * RFC 6962 over the published test data of transparency-dev/merkle: every file below `inclusion` and `consistency` is
 * one proof, which must hold exactly when `wantErr` is false. The directory may also be the one above, with `testdata`.
 */
export async function run(directory: string, tell: (line: string) => void = () => {}): Promise<SuiteResult> {
  const root = await rootOf(directory);
  const vectors = new Map<string, () => Promise<VectorOutcome>>();
  for (const [part, read] of PARTS) {
    const files = await jsonFilesBelow(join(root, part));
    // Half the suite must not go missing unnoticed.
    if (files.length === 0) {
      throw new ConformanceError('conformance.no_vectors', `The directory holds no vectors of merkle in ${part}.`, {
        fix: 'Give the directory that the suite publishes its test data in.',
      });
    }
    for (const file of files) vectors.set(relative(root, file), () => checkVector(file, read));
  }
  return runVectors('merkle', vectors, tell);
}

/** What a vector claims, whether our code finds it proven, and whether it should. */
interface Judged {
  readonly holds: boolean;
  readonly wantErr: boolean;
}

type Json = Readonly<Record<string, unknown>>;

/** Undefined for what is no vector of this part. */
type ReadVector = (vector: Json) => Judged | undefined;

const PARTS: ReadonlyMap<string, ReadVector> = new Map([
  ['inclusion', judgeInclusion],
  ['consistency', judgeConsistency],
]);

async function checkVector(file: string, read: ReadVector): Promise<VectorOutcome> {
  let vector: unknown;
  try {
    const bytes = await readFile(file);
    // The suite counts in uint64. A number that ours cannot hold proves nothing, so its nearest neighbour will do.
    vector = parseJson(bytes, { maxLength: bytes.length, largeIntegers: 'nearest' });
  } catch (error) {
    return {
      kind: 'failed',
      why: error instanceof PrimitivesError ? `${error.code}: ${error.message}` : String(error),
    };
  }
  const judged = isRecord(vector) ? read(vector) : undefined;
  if (judged === undefined) return { kind: 'failed', why: 'the file is not of the published format' };
  if (judged.holds !== judged.wantErr) return { kind: 'passed' };
  return { kind: 'failed', why: judged.holds ? 'holds, and must not' : 'does not hold, and must' };
}

function judgeInclusion(vector: Json): Judged | undefined {
  // Some editions of the suite say `leafIndex`.
  const { leafIdx: index = vector['leafIndex'], treeSize: size, wantErr } = vector;
  if (typeof index !== 'number' || typeof size !== 'number' || typeof wantErr !== 'boolean') return undefined;
  if (![vector['root'], vector['leafHash']].every(isHashText) || !isProofText(vector['proof'])) return undefined;
  const [root, leaf] = [hashOf(vector['root']), hashOf(vector['leafHash'])];
  const proof = proofOf(vector['proof']);
  if (root === undefined || leaf === undefined || proof === undefined) return { holds: false, wantErr };
  return { holds: provesInclusion({ index, size, leaf, root, proof }, nodeSha256), wantErr };
}

function judgeConsistency(vector: Json): Judged | undefined {
  const { size1: oldSize, size2: newSize, wantErr } = vector;
  if (typeof oldSize !== 'number' || typeof newSize !== 'number' || typeof wantErr !== 'boolean') return undefined;
  if (![vector['root1'], vector['root2']].every(isHashText) || !isProofText(vector['proof'])) return undefined;
  const [oldRoot, newRoot] = [hashOf(vector['root1']), hashOf(vector['root2'])];
  const proof = proofOf(vector['proof']);
  if (oldRoot === undefined || newRoot === undefined || proof === undefined) return { holds: false, wantErr };
  return { holds: provesConsistency({ oldSize, newSize, oldRoot, newRoot, proof }, nodeSha256), wantErr };
}

/** Go writes bytes as base64, and none as null; missing ones are none too. */
type HashText = string | null | undefined;

function isHashText(value: unknown): value is HashText {
  return value === undefined || value === null || typeof value === 'string';
}

function isProofText(value: unknown): value is readonly HashText[] | null | undefined {
  return value === undefined || value === null || (Array.isArray(value) && value.every(isHashText));
}

/** Undefined for what is no base64, with which nothing is proven. */
function hashOf(value: unknown): Uint8Array | undefined {
  return bytesOfBase64(typeof value === 'string' ? value : '');
}

function proofOf(value: unknown): readonly Uint8Array[] | undefined {
  const hashes = Array.isArray(value) ? value.map(hashOf) : [];
  return hashes.every((hash) => hash !== undefined) ? hashes : undefined;
}

async function rootOf(directory: string): Promise<string> {
  const names = await namesOf(directory);
  return !names.includes('inclusion') && names.includes('testdata') ? join(directory, 'testdata') : directory;
}

async function namesOf(directory: string): Promise<readonly string[]> {
  return readdir(directory).catch((cause: unknown) => {
    throw missing(directory, cause);
  });
}

async function jsonFilesBelow(directory: string): Promise<readonly string[]> {
  try {
    const entries = await readdir(directory, { recursive: true, withFileTypes: true });
    return entries
      .filter((entry) => !entry.isDirectory() && entry.name.endsWith('.json'))
      .map((entry) => join(entry.parentPath, entry.name))
      .toSorted();
  } catch (cause) {
    throw missing(directory, cause);
  }
}

function missing(directory: string, cause: unknown): ConformanceError {
  return new ConformanceError('conformance.missing_directory', `${directory} cannot be read.`, {
    fix: 'Give an existing directory of published vectors.',
    cause,
  });
}

function isRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
