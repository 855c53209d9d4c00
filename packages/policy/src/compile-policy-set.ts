import { type Sha256Hex, sha256OfJson } from '@palyra/primitives';
import { type NamedPolicy, type PolicyPart, splitPolicies, type ValidationFinding, validatePolicies } from './cedar.ts';
import { parseObligations } from './obligations.ts';
import { PolicyError } from './policy-error.ts';
import { isLimitedTo, reliesOnDeclaredAlone } from './policy-form.ts';
import type { PolicyFile, PolicyRecord, PolicySet, PolicyWarning, PresetName } from './policy-set.ts';
import { policyStatements } from './policy-statements.ts';
import { presetFiles, readSchema } from './presets.ts';
import { createProblemList, type ProblemList } from './problem-list.ts';
import { positionInWhole } from './source-position.ts';

export interface PolicySource {
  readonly preset: PresetName;
  /** The operator's; our own come with the preset. */
  readonly files: readonly PolicyFile[];
}

const MOST_POLICIES = 5000;
const MOST_BYTES = 2 * 1024 * 1024;
const ID = /^[a-z0-9][a-z0-9-]{0,63}$/;

/**
 * Everything that is checked before a set may decide anything. Throws one `PolicyError` that names every place at
 * fault. It takes seconds for the largest set: a daemon compiles off its event loop (`compileOffLoop`).
 */
export function compilePolicySet({ preset, files }: PolicySource): PolicySet {
  checkSize(files);
  const problems = createProblemList();
  for (const file of files) checkStatements(file, problems);
  problems.throwAny();
  const candidates = [...presetFiles(preset), ...files].flatMap((file) => partsOf(file, problems));
  const policies = checkEach(candidates, problems);
  const warnings = [
    ...validate(policies, problems),
    ...policies.flatMap(({ record, part }) => warningsOf(record, part)),
  ];
  problems.throwAny();
  const records = policies.map(({ record }) => record).toSorted(byId);
  return { preset, policies: records, digest: digestOf(preset, records), warnings: warnings.toSorted(byPolicyId) };
}

interface Candidate {
  readonly file: PolicyFile;
  readonly part: PolicyPart;
}

interface Checked extends Candidate {
  readonly record: PolicyRecord;
}

function checkSize(files: readonly PolicyFile[]): void {
  const bytes = files.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
  if (bytes > MOST_BYTES) {
    throw tooLarge(`The policies are over ${MOST_BYTES / 1024 / 1024} MiB together.`);
  }
  // Counted before Cedar parses anything: that is what takes the time.
  const count = files.reduce((sum, { text }) => sum + policyStatements(text).length, 0);
  if (count > MOST_POLICIES) throw tooLarge(`There are ${count} policies, and ${MOST_POLICIES} are the most.`);
}

/** What Cedar parses and the engine prepares in one go; and how deep its parser can go before its memory ends. */
const LONGEST_POLICY = 32 * 1024;
const MOST_OPERATORS = 1000;
const DEEPEST = 60;

/** Before Cedar sees it: a policy that breaks its memory would leave no place to point at, and nothing working behind. */
function checkStatements({ name, text }: PolicyFile, problems: ProblemList): void {
  for (const { text: statement, position } of policyStatements(text)) {
    const bare = statement.replaceAll(/"(?:[^"\\]|\\.)*"?|\/\/[^\n]*/gsu, '');
    const isTooMuch =
      statement.length > LONGEST_POLICY ||
      (bare.match(/&&|\|\|/g)?.length ?? 0) > MOST_OPERATORS ||
      depthOf(bare) > DEEPEST;
    if (!isTooMuch) continue;
    problems.add(
      'policy.too_large',
      { file: name, ...position },
      {
        message: `A policy is over ${LONGEST_POLICY / 1024} KiB, ${MOST_OPERATORS} operators or ${DEEPEST} brackets deep.`,
        fix: 'Write several policies instead.',
      },
    );
  }
}

function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (const character of text) {
    if ('([{!'.includes(character)) depth += 1;
    else if (')]}'.includes(character)) depth -= 1;
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}

function partsOf(file: PolicyFile, problems: ProblemList): readonly Candidate[] {
  const answer = splitPolicies(file.text);
  if (answer.kind === 'split') return answer.parts.map((part) => ({ file, part }));
  // SECURITY: T-09 — a file that is half written or broken is never used as far as it goes: its forbids may be missing.
  for (const { message, help, position } of answer.problems) {
    const told = { message: `This is not Cedar: ${message}.`, ...(help === undefined ? {} : { fix: sentence(help) }) };
    problems.add('policy.invalid_policy_set', { file: file.name, ...position }, told);
  }
  return [];
}

function checkEach(candidates: readonly Candidate[], problems: ProblemList): readonly Checked[] {
  const taken = new Map<string, Candidate>();
  return candidates.flatMap((candidate) => {
    const { file, part } = candidate;
    const record = problems.collect({ file: file.name, ...part.position }, () => {
      const id = checkId(candidate, taken);
      taken.set(id, candidate);
      checkForm(candidate, id);
      return recordOf(candidate, id);
    });
    return record === undefined ? [] : [{ ...candidate, record }];
  });
}

function checkId({ part: { id } }: Candidate, taken: ReadonlyMap<string, Candidate>): string {
  if (id === undefined) {
    throw invalid('A policy has no @id.', 'Begin it with @id("…"): decisions, receipts and tests name it by that.');
  }
  if (!ID.test(id)) {
    const shown = JSON.stringify(id.slice(0, 80));
    throw invalid(`@id(${shown}) is not an id.`, 'Use at most 64 lower-case letters, digits and hyphens.');
  }
  const first = taken.get(id);
  if (first === undefined) return id;
  const where = `${first.file.name}:${first.part.position.line}`;
  const whose = first.file.origin.kind === 'palyra' ? `The id ${id} is one of Palyra's own` : `The id ${id} is taken`;
  throw invalid(`${whose} (${where}).`, 'Give this policy another id.');
}

function checkForm({ file: { origin }, part }: Candidate, id: string): void {
  if (part.kind === 'template') {
    throw invalid(`${id} is a template, and nothing links it.`, 'Write the principal or resource out.');
  }
  if (origin.kind !== 'workspace' || isLimitedTo(part.json, origin.workspace)) return;
  const guard = `context has workspace && context.workspace == Palyra::Workspace::"${origin.workspace}"`;
  throw invalid(
    `${id} is not limited to the workspace ${origin.workspace}.`,
    `Begin its first condition with: when { ${guard} && … }`,
  );
}

function recordOf({ file, part }: Candidate, id: string): PolicyRecord {
  return {
    id,
    text: part.text,
    effect: part.effect,
    file: file.name,
    ...part.position,
    reason: part.annotations.get('reason'),
    fix: part.annotations.get('fix'),
    obligations: parseObligations(Object.fromEntries(part.annotations)),
    origin: file.origin,
  };
}

/** Strict validation: what passes it cannot fail when it is evaluated, or only by overflow. */
function validate(policies: readonly Checked[], problems: ProblemList): readonly PolicyWarning[] {
  const named: readonly NamedPolicy[] = policies.map(({ record: { id, text } }) => ({ id, text }));
  const answer = validatePolicies(readSchema(), named);
  if (answer.kind === 'failed') {
    const message = answer.problems.map((problem) => problem.message).join(' ');
    throw new PolicyError('policy.invalid_policy_set', `The policies cannot be validated: ${message}`);
  }
  const known = new Map(policies.map(({ record }) => [record.id, record]));
  const warnings: PolicyWarning[] = [];
  for (const [first, ...others] of findingsByPlace(answer.findings)) {
    if (first === undefined) continue;
    const { severity, policyId, help, position } = first;
    const more = others.length === 0 ? '' : ` (and ${others.length} more of this kind)`;
    const message = sentence(`${first.message.replace(`for policy \`${policyId}\`, `, '')}${more}`);
    if (severity === 'warning') {
      warnings.push({ policyId, message });
    } else {
      const record = known.get(policyId);
      const place = { file: record?.file ?? '', ...positionInWhole(record ?? position, position) };
      const told = { message: `${policyId}: ${message}`, ...(help === undefined ? {} : { fix: sentence(help) }) };
      problems.add('policy.invalid_policy_set', place, told);
    }
  }
  return warnings;
}

/** Cedar tells the same fault once for each action that the policy could be about, and in no order. */
function findingsByPlace(findings: readonly ValidationFinding[]): readonly (readonly ValidationFinding[])[] {
  const places = Map.groupBy(
    findings.toSorted((a, b) => (a.message < b.message ? -1 : 1)),
    ({ severity, policyId, position }) => `${severity} ${policyId} ${position.line} ${position.column}`,
  );
  return [...places.values()];
}

function warningsOf({ id }: PolicyRecord, { json }: PolicyPart): readonly PolicyWarning[] {
  // SECURITY: T-49 — arguments are a claim: a process that was permitted for them does what it likes.
  if (!reliesOnDeclaredAlone(json)) return [];
  const message =
    json.effect === 'permit'
      ? 'It permits by context.declared alone, which nothing holds the call to. Ask for context.enforced as well.'
      : 'It forbids by context.declared alone: it stops mistakes, and nobody who words the call another way.';
  return [{ policyId: id, message }];
}

function digestOf(preset: PresetName, policies: readonly PolicyRecord[]): Sha256Hex {
  return sha256OfJson({ preset, policies: policies.map(({ id, text }) => [id, text]) });
}

function byId(a: PolicyRecord, b: PolicyRecord): number {
  return a.id < b.id ? -1 : 1;
}

function byPolicyId(a: PolicyWarning, b: PolicyWarning): number {
  return a.policyId < b.policyId ? -1 : Number(a.policyId > b.policyId);
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

function invalid(message: string, fix: string): PolicyError {
  return new PolicyError('policy.invalid_policy_set', message, { fix });
}

function tooLarge(message: string): PolicyError {
  return new PolicyError('policy.too_large', message, {
    fix: 'Say with one policy, over a group or a set, what many say now.',
  });
}
