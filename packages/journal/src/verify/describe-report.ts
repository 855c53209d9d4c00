import { visibleText } from '@palyra/primitives/browser';
import { bytesOfHex } from '../format/bytes.ts';
import { parseCheckpoint } from '../format/checkpoint.ts';
import type { Sha256 } from '../format/crypto.ts';
import { formatVkey } from '../format/signed-note.ts';
import { type Established, FINDINGS, type LogCounts, type VerifyPins } from './report.ts';
import type { BundleReport } from './verify-bundle.ts';
import type { ExportReport } from './verify-export.ts';
import type { TextReport } from './verify-text.ts';

/** A report in words. Every text is safe to show. */
export interface ReportInWords {
  readonly verdict: 'sound' | 'broken';
  readonly headline: string;
  readonly facts: readonly (readonly [label: string, value: string])[];
  readonly remarks: readonly string[];
}

export function describeReport(found: TextReport): ReportInWords {
  const words = found.of === 'bundle' ? bundleWords(found.report) : exportWords(found.report);
  return {
    ...words,
    facts: words.facts.map(([label, value]) => [label, shown(value)]),
    remarks: words.remarks.map(shown),
  };
}

/** SECURITY: T-08 — names in a file are its maker's choice, and must not draw a verdict of their own on the screen. */
function shown(text: string): string {
  return visibleText(text, { maxCharacters: 1000 });
}

function bundleWords(report: BundleReport): ReportInWords {
  return report.kind === 'broken' ? broken(report) : bundle(report);
}

function exportWords(report: ExportReport): ReportInWords {
  return report.kind === 'broken' ? broken(report) : exported(report);
}

function broken({ origin, finding }: Extract<BundleReport, { kind: 'broken' }>): ReportInWords {
  const { code, seq, why } = finding;
  return {
    verdict: 'broken',
    headline: `Does not verify: ${FINDINGS[code]}`,
    facts: [
      ['Why', why],
      ['Finding', code],
      ...(seq === undefined ? [] : [['First bad entry', `${seq}`] as const]),
      ['Log', origin],
    ],
    remarks: [],
  };
}

function bundle(report: Extract<BundleReport, { kind: 'sound' }>): ReportInWords {
  const { attestation, established, journal_seq, time, input, output, origin, size, rootKey } = report;
  const { call_id, tool, principal, outcome, executor, sandbox_enforcement, decision, approval } = attestation;
  return {
    verdict: 'sound',
    headline: `The receipt of one call ${levelInWords(established)}.`,
    facts: [
      ['Call', call_id],
      ['Tool', tool],
      ['Principal', principal],
      ['Outcome', outcome.kind],
      ['Decision', `${decision.kind} (${decision.reason_code})`],
      ...(approval === undefined ? [] : [['Approval', `${approval.outcome} ${approval.decider ?? ''}`] as const]),
      ['Executor', `${executor}, sandbox ${sandbox_enforcement}`],
      ['Input', BODY_WORDS[input]],
      ['Output', BODY_WORDS[output]],
      ['Recorded', `entry ${journal_seq}, ${dateOf(time)}`],
      ['Log', `${origin}, checkpoint of ${size} entries`],
      ...levelFacts(established),
      ['Root key', rootKey],
    ],
    remarks: ['It is what the daemon on that host stated about the call, and when.', ...report.remarks],
  };
}

const BODY_WORDS = {
  checked: 'in the file, and as it was',
  'salt only': 'not in the file; whoever has it can check it',
  'left out': 'not in the file',
  none: 'none',
} as const;

function exported(report: Extract<ExportReport, { kind: 'sound' }>): ReportInWords {
  const { counts, established, origin, size, rootKey } = report;
  const { checked, erased, leftOut } = counts.bodies;
  const extent =
    report.of === 'range' ? `entries ${report.first} to ${size - 1}` : `${counts.entries} selected entries`;
  return {
    verdict: 'sound',
    headline: `The export ${levelInWords(established)}.`,
    facts: [
      ['Holds', extent],
      ['Attestations', `${counts.attestations}`],
      ['Checkpoints', `${counts.checkpoints}`],
      ['Bodies', `${checked} checked, ${erased} erased, ${leftOut} not in the file`],
      ['Log', `${origin}, ${size} entries`],
      ...levelFacts(established),
      ['Root key', rootKey],
    ],
    remarks: report.remarks,
  };
}

function levelInWords({ level }: Established): string {
  switch (level) {
    case 'self_consistent':
      return 'agrees with itself, and was compared with no key';
    case 'signed':
      return 'is signed under the key that you gave';
    case 'witnessed':
      return 'is signed under the key that you gave, and a witness saw it';
  }
}

function levelFacts(established: Established): readonly (readonly [string, string])[] {
  if (established.level !== 'witnessed') return [];
  const { witness, size, time } = established;
  return [['Witness', `${witness}, at size ${size}, ${dateOf(time * 1000)}`]];
}

function dateOf(milliseconds: number): string {
  const date = new Date(milliseconds);
  return Number.isNaN(date.getTime()) ? `${milliseconds} ms` : date.toISOString();
}

/**
 * Of the checkpoints that were given, those that say nothing here: only a log that is there as a whole can be compared
 * with one of any size. Whoever gave them must not believe that they were.
 */
export function uncomparedCheckpoints(
  { of, report }: TextReport,
  { checkpoints }: Pick<VerifyPins, 'checkpoints'>,
): readonly string[] {
  if (report.kind === 'broken' || (of === 'export' && report.of === 'range')) return [];
  return checkpoints
    .map((note) => parseCheckpoint(note).checkpoint)
    .filter(({ origin, size }) => origin !== report.origin || size !== report.size)
    .map(
      ({ origin, size }) =>
        `The checkpoint of ${origin} at size ${size} was not compared: this file holds one checkpoint, of size ` +
        `${report.size}, and no way from one to the other. Verify the home or a whole export with it.`,
    );
}

export interface ReportContext {
  /** Where the file was found. */
  readonly path: string;
  readonly sha256: Sha256;
}

/** A report for programs, as `palyra verify --json` prints it. */
export function reportAsJson(found: TextReport, { path, sha256 }: ReportContext): Readonly<Record<string, unknown>> {
  const { of: target, report } = found;
  const { origin } = report;
  if (report.kind === 'broken') {
    const { code, seq, why } = report.finding;
    return { verdict: 'broken', target, path, origin, finding: { code, seq: seq ?? null, why } };
  }
  const { established, size, root, remarks } = report;
  const publicKey = bytesOfHex(report.rootKey) ?? new Uint8Array();
  const root_key = formatVkey({ name: 'palyra-root', type: 1, publicKey }, sha256);
  const facts = found.of === 'bundle' ? bundleFacts(found.report) : exportFacts(found.report);
  return { verdict: 'sound', target, path, origin, established, root_key, size, root, ...facts, remarks };
}

type Facts = Readonly<Record<string, unknown>>;

function bundleFacts(report: BundleReport): Facts {
  if (report.kind === 'broken') return {};
  const { journal_seq, time, input, output, attestation } = report;
  return { journal_seq, time, input, output, attestation };
}

function exportFacts(report: ExportReport): Facts {
  if (report.kind === 'broken') return {};
  const extent = report.of === 'selection' ? { filter: report.filter } : { first: report.first };
  return { of: report.of, ...extent, ...countFacts(report.counts) };
}

function countFacts({ entries, checkpoints, attestations, bodies }: LogCounts): Facts {
  const { checked, erased, leftOut } = bodies;
  return { entries, checkpoints, attestations, bodies: { checked, erased, left_out: leftOut } };
}
