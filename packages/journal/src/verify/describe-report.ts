import { visibleText } from '@palyra/primitives/browser';
import { type Established, FINDINGS } from './report.ts';
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
