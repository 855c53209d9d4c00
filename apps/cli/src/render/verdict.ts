import type {
  Established,
  Finding,
  FindingCode,
  LogCounts,
  TextReport,
  ToolAttestation,
  VerifyPins,
} from '@palyra/journal';
import { visibleText } from '@palyra/primitives';
import { loadJournal } from '../journal-home.ts';
import type { Verified } from '../verify-target.ts';
import type { Paint } from './paint.ts';

/** A report of any kind of target, in the same words. */
export type Verdict = SoundVerdict | BrokenVerdict;

interface AnyVerdict {
  readonly target: Verified['target'];
  readonly path: string;
  readonly origin: string;
}

interface SoundVerdict extends AnyVerdict {
  readonly kind: 'sound';
  readonly established: Established;
  /** A verifier key. */
  readonly rootKey: string;
  readonly size: number;
  /** Hexadecimal. */
  readonly root: string;
  readonly facts: Readonly<Record<string, unknown>>;
  readonly remarks: readonly string[];
  readonly witnessesGiven: number;
}

interface BrokenVerdict extends AnyVerdict {
  readonly kind: 'broken';
  readonly finding: Finding;
}

export async function verdictOf(verified: Verified, pins: VerifyPins): Promise<Verdict> {
  const { target, path, report } = verified;
  if (report.kind === 'broken') {
    return { kind: 'broken', target, path, origin: report.origin, finding: report.finding };
  }
  const { formatVkey, nodeSha256, uncomparedCheckpoints } = await loadJournal();
  const { origin, rootKey, size, root, established, remarks, facts } = soundFacts(verified);
  const publicKey = new Uint8Array(Buffer.from(rootKey, 'hex'));
  return {
    kind: 'sound',
    target,
    path,
    origin,
    size,
    root,
    established,
    facts,
    remarks:
      target === 'home' ? remarks : [...remarks, ...uncomparedCheckpoints({ of: target, report } as TextReport, pins)],
    rootKey: formatVkey({ name: 'palyra-root', type: 1, publicKey }, nodeSha256),
    witnessesGiven: pins.witnesses.length,
  };
}

type SoundFacts = Pick<SoundVerdict, 'origin' | 'rootKey' | 'size' | 'root' | 'established' | 'remarks' | 'facts'>;

function soundFacts({ target, report }: Verified): SoundFacts {
  if (report.kind === 'broken') throw new TypeError('A broken log has no facts.');
  switch (target) {
    case 'home': {
      const last = report.logs.at(-1);
      if (last === undefined) throw new TypeError('A sound home has a log.');
      const earlier = report.logs.slice(0, -1).map(({ origin, size, root }) => ({ origin, size, root }));
      const remarks = report.logs.flatMap((log) => log.remarks);
      return { ...last, remarks, facts: { ...countsOf(last.counts), earlier_logs: earlier } };
    }
    case 'export': {
      if (report.of === 'selection') {
        return { ...report, facts: { of: 'selection', filter: report.filter, ...countsOf(report.counts) } };
      }
      return { ...report, facts: { of: 'range', first: report.first, ...countsOf(report.counts) } };
    }
    case 'bundle': {
      const { journal_seq, time, attestation, input, output } = report;
      return { ...report, facts: { journal_seq, time, input, output, attestation } };
    }
  }
}

function countsOf({ entries, checkpoints, attestations, bodies }: LogCounts): Readonly<Record<string, unknown>> {
  const { checked, erased, leftOut } = bodies;
  return { entries, checkpoints, attestations, bodies: { checked, erased, left_out: leftOut } };
}

export function verdictAsJson(verdict: Verdict): Readonly<Record<string, unknown>> {
  const { kind, target, path, origin } = verdict;
  if (verdict.kind === 'broken') {
    const { code, seq, why } = verdict.finding;
    return { verdict: kind, target, path, origin, finding: { code, seq: seq ?? null, why } };
  }
  const { established, rootKey, size, root, facts, remarks } = verdict;
  return { verdict: kind, target, path, origin, established, root_key: rootKey, size, root, ...facts, remarks };
}

export function renderVerdict(
  verdict: Verdict,
  paint: Paint,
  { isRequired }: { readonly isRequired: boolean },
): string {
  const lines = verdict.kind === 'broken' ? brokenLines(verdict, paint) : soundLines(verdict, paint, { isRequired });
  return `${lines.join('\n')}\n`;
}

function brokenLines({ target, path, origin, finding }: BrokenVerdict, paint: Paint): readonly string[] {
  const where = finding.seq === undefined ? '' : ` at entry ${finding.seq}`;
  return [
    `${paint('error', `BROKEN${where}:`)} ${visibleText(finding.why)}`,
    `  ${target} ${visibleText(path)}, log ${visibleText(origin)}, finding ${finding.code}`,
    `${paint('fix', 'fix:')} ${adviceOn(target, finding.code)}`,
  ];
}

function adviceOn(target: Verified['target'], code: FindingCode): string {
  if (target === 'home' && code === 'not_a_log') return DAMAGED;
  return ADVICE[code] ?? KEEP;
}

const DAMAGED =
  'Stop palyrad and keep the database file as it is, with those beside it: it is evidence. Then put a backup in its ' +
  'place, and run `palyra journal recover`.';
const KEEP =
  'Keep a copy as it is before anything else writes to it, and compare it with an export, an archive or a backup.';
const SHORTER =
  'If a backup was restored, say so with `palyra journal recover`. If not, keep this copy and the checkpoint that it ' +
  'contradicts: together they are evidence.';

const ADVICE: Partial<Record<FindingCode, string>> = {
  truncated: SHORTER,
  forked: SHORTER,
  root_differs: 'Check that this is the log you meant, and the key. A log never changes its root key.',
  not_a_log: 'Check that the file is whole, and use the verifier of the release that wrote it.',
};

function soundLines(
  verdict: SoundVerdict,
  paint: Paint,
  { isRequired }: { readonly isRequired: boolean },
): readonly string[] {
  const { target, path, origin, size, established, remarks } = verdict;
  const isEnough = !isRequired || established.level === 'witnessed';
  return [
    `${isEnough ? paint('fix', 'sound:') : paint('error', 'NOT WITNESSED:')} ${target} ${visibleText(path)}`,
    `  ${visibleText(origin)}, ${target === 'bundle' ? `under its checkpoint of ${size} entries` : `${size} entries`}`,
    '',
    ...levelLines(verdict),
    '',
    ...counted(verdict),
    ...remarks.map((remark) => `${paint('warning', 'remark:')} ${visibleText(remark)}`),
  ];
}

/** Which of the three, in plain words. */
function levelLines(verdict: SoundVerdict): readonly string[] {
  const { established, rootKey, size, witnessesGiven } = verdict;
  const signed = `${subjectOf(verdict)} itself, and is signed by keys that the root key you gave has certified.`;
  switch (established.level) {
    case 'self_consistent':
      return [
        `${subjectOf(verdict)} itself. It is signed by a key you did not pin:`,
        `  ${rootKey}`,
        'Whoever holds it could have made it up. Give --key with the root key as you know it from elsewhere.',
      ];
    case 'signed':
      return [
        signed,
        witnessesGiven === 0
          ? 'No witness was named, so its holder could show another one to others: see --witness.'
          : 'No witness that you named has cosigned it, so its holder could show another one to others.',
      ];
    case 'witnessed': {
      const { witness, size: seen, time } = established;
      const later = size - seen;
      return [
        signed,
        `The witness ${visibleText(witness)} saw it at size ${seen}, ${new Date(time * 1000).toISOString()}; nothing before was changed since.`,
        later === 0
          ? 'No entries came later.'
          : `${later} ${later === 1 ? 'entry' : 'entries'} came later, or with it.`,
      ];
    }
  }
}

function subjectOf({ target, facts }: SoundVerdict): string {
  if (target === 'bundle') return 'The receipt agrees with';
  return facts['of'] === 'selection' ? 'Each of these entries is in a log that agrees with' : 'The log agrees with';
}

function counted({ facts }: SoundVerdict): readonly string[] {
  const { attestation, time, ...counts } = facts;
  const shown = {
    ...(attestation === undefined ? {} : callFacts(attestation as ToolAttestation)),
    ...(time === undefined ? {} : { recorded: new Date(time as number).toISOString() }),
    ...counts,
  };
  return Object.entries(shown).flatMap(([name, value]) => {
    if (Array.isArray(value) && value.length === 0) return [];
    return [`  ${name.replaceAll('_', ' ').padEnd(14)}${visibleText(factText(value))}`];
  });
}

/** What a person wants to know of a receipt; programs get all of it. */
function callFacts(attestation: ToolAttestation): Readonly<Record<string, string>> {
  const { call_id, tool, principal, decision, approval, executor, sandbox_enforcement, outcome } = attestation;
  return {
    call: call_id,
    tool,
    principal,
    decision: `${decision.kind} (${decision.policy_ids.join(', ')})`,
    ...(approval === undefined ? {} : { approval: `${approval.outcome} by ${approval.decider ?? 'nobody'}` }),
    executor: `${executor}, enforcement ${sandbox_enforcement}`,
    outcome: outcome.kind,
  };
}

function factText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  if (Array.isArray(value)) return value.map(factText).join('; ');
  return Object.entries(value)
    .map(([name, item]) => `${name.replaceAll('_', ' ')} ${String(item)}`)
    .join(', ');
}
