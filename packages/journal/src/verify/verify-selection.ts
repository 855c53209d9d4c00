import { hexOf } from '../format/bytes.ts';
import { fieldsOfType } from '../format/check-data.ts';
import type { TypedEntry } from '../format/entry.ts';
import { provesConsistency } from '../format/merkle-proof.ts';
import { checkProvenAttestation, faultInSnapshot, isCommitted } from './attested-entry.ts';
import type { ProvenEntryLine, SelectionHeader } from './export-format.ts';
import { createKeptSnapshots, type KeptSnapshots, sourceBody } from './kept-content.ts';
import type { SourceBody } from './log-source.ts';
import { checkProvenEntry } from './proven-entry.ts';
import type { ExportReader } from './read-export.ts';
import type { Established, Finding, LogCounts } from './report.ts';
import { createSelectionTally, type SelectionTally } from './selection-tally.ts';
import {
  type CheckContext,
  type Checked,
  checkCheckpoint,
  checkHead,
  differsFromRemembered,
  establish,
  fails,
  type SignedHead,
} from './signed-head.ts';
import { bytesOf } from './written-log.ts';

export interface SelectionFacts {
  readonly size: number;
  readonly root: string;
  readonly established: Established;
  readonly counts: LogCounts;
  readonly remarks: readonly string[];
}

/** Some entries of a log, each under one checkpoint. Throws what the reader throws when the file itself is at fault. */
export async function verifySelection(
  reader: ExportReader,
  header: SelectionHeader,
  context: CheckContext,
): Promise<Checked<SelectionFacts>> {
  const checkedHead = await checkHead({ ...header, rootKey: reader.rootKey }, context);
  if (checkedHead.kind === 'fails') return checkedHead;
  const head = checkedHead.value;
  const witnessed = await checkWitnessed(header, head, context);
  if (witnessed.kind === 'fails') return witnessed;
  const heads = [head, ...witnessed.value];
  const forked = heads
    .map((each) => differsFromRemembered(each, context.pins))
    .find((finding) => finding !== undefined);
  if (forked !== undefined) return { kind: 'fails', finding: forked };

  const tally = createSelectionTally();
  const snapshots = createKeptSnapshots();
  let before = -1;
  for await (const line of reader.lines()) {
    if (line.type === 'snapshot') {
      snapshots.keep(line);
      continue;
    }
    if (line.type !== 'entry' || !('proof' in line)) return fails('not_a_log', 'A selection has a line of a range.');
    if (line.seq <= before) return fails('entry_repeated', `Entry ${line.seq} comes after entry ${before}.`, line.seq);
    before = line.seq;
    const finding = await checkLine(line, { ...context, head, snapshots, tally, bodies: header.bodies });
    if (finding !== undefined) return { kind: 'fails', finding };
  }
  const established = await establish(heads, context);
  const remarks = tally.remarks();
  const counts = tally.counts();
  return { kind: 'holds', value: { size: head.size, root: hexOf(head.root), established, counts, remarks } };
}

/** The cosigned checkpoint is one of the same log, which goes on from there. */
async function checkWitnessed(
  { witnessed, origin }: SelectionHeader,
  head: SignedHead,
  { crypto }: CheckContext,
): Promise<Checked<readonly SignedHead[]>> {
  if (witnessed === undefined) return { kind: 'holds', value: [] };
  const checked = await checkCheckpoint(witnessed.checkpoint, { origin, keys: head.keys, crypto });
  if (checked.kind === 'fails') return checked;
  const { size, root } = checked.value;
  const claim = {
    oldSize: size,
    oldRoot: root,
    newSize: head.size,
    newRoot: head.root,
    proof: witnessed.proof.map(bytesOf),
  };
  if (provesConsistency(claim, crypto.sha256)) return { kind: 'holds', value: [checked.value] };
  return fails('forked', `The log of size ${head.size} does not continue what was cosigned at size ${size}.`);
}

interface LineContext extends CheckContext {
  readonly head: SignedHead;
  readonly snapshots: KeptSnapshots;
  readonly tally: SelectionTally;
  readonly bodies: boolean;
}

async function checkLine(line: ProvenEntryLine, context: LineContext): Promise<Finding | undefined> {
  const { head, crypto, tally } = context;
  const checked = checkProvenEntry(line, head, crypto.sha256);
  if (checked.kind === 'fails') return checked.finding;
  tally.entry(line.seq, checked.value);
  return (
    checkSnapshots(line.seq, checked.value, context) ??
    checkBodies(line, checked.value, context) ??
    (await checkEnvelope(line, checked.value, context))
  );
}

function checkSnapshots(seq: number, entry: TypedEntry, { snapshots, crypto }: LineContext): Finding | undefined {
  for (const digest of references(entry, 'snapshot')) {
    const fault = faultInSnapshot(digest, snapshots.find(digest), crypto.sha256);
    if (fault !== undefined) return { ...fault, seq };
  }
  return undefined;
}

function checkBodies(line: ProvenEntryLine, entry: TypedEntry, context: LineContext): Finding | undefined {
  const { seq } = line;
  for (const commitment of references(entry, 'body')) {
    const body = bodyIn(line, commitment, context);
    context.tally.body(commitment, body);
    const isClaimed = body.kind === 'said to be erased' || (body.kind === 'erased' && (body.erasedBy ?? 0) > seq);
    if (body.kind === 'left out' || isClaimed) continue;
    if (body.kind !== 'present')
      return { code: 'body_missing', seq, why: `A body of entry ${seq} is not in the file.` };
    if (isCommitted(commitment, body, context.crypto.sha256)) continue;
    return { code: 'body_swapped', seq, why: `A body of entry ${seq} is not the one that was committed to.` };
  }
  return undefined;
}

function bodyIn({ bodies = [] }: ProvenEntryLine, commitment: string, context: LineContext): SourceBody {
  if (!context.bodies) return { kind: 'left out' };
  const item = bodies.find((each) => each.commitment === commitment);
  return item === undefined ? { kind: 'missing' } : sourceBody(item, context.head.size);
}

async function checkEnvelope(
  line: ProvenEntryLine,
  entry: TypedEntry,
  context: LineContext,
): Promise<Finding | undefined> {
  if (entry.kind !== 'attestation') return undefined;
  const { data } = entry;
  const envelope = bodyIn(line, data.envelope, context);
  const execution = bodyIn(line, data.execution, context);
  if (envelope.kind !== 'present' || execution.kind !== 'present') return undefined;
  const attested = { seq: line.seq, data, envelope, executionSalt: execution.salt };
  const checked = await checkProvenAttestation(attested, context.head, context.crypto);
  if (checked.kind === 'fails') return checked.finding;
  context.tally.attestation();
  return undefined;
}

function references({ kind, data }: TypedEntry, type: 'body' | 'snapshot'): readonly string[] {
  const values = data as Readonly<Record<string, unknown>>;
  return fieldsOfType(kind, type)
    .map((field) => values[field])
    .filter((value) => typeof value === 'string');
}
