import type { Decision, ExplainedFact, Explanation, WhatIf } from '@palyra/policy';
import type { Paint } from './paint.ts';
import { safeText } from './safe-text.ts';
import { renderColumns } from './table.ts';

/** One page: the answer, the policies it comes from, the facts they read, and what would change it. */
export function renderExplanation(explanation: Explanation, paint: Paint): string {
  const { decision, policies, facts, wouldChange } = explanation;
  const sections = [
    answer(decision, paint),
    section(
      'Why',
      policies.flatMap(({ id, effect, file, line, text }) => [
        `${paint('name', id)}  ${effect}  ${paint('faint', `${safeText(file)}:${line}`)}`,
        ...safeText(text)
          .split('\n')
          .map((row) => `  ${row}`),
      ]),
      paint,
    ),
    section('Facts', factRows(facts), paint),
    section('What would change it', wouldChange.map(sentence), paint),
  ];
  return `${sections
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`;
}

/** A decision as every surface tells it. */
export function decisionAsJson(decision: Decision): Readonly<Record<string, unknown>> {
  const { kind, policyIds, reasonCode, reason, fix, obligations, observed } = decision;
  return {
    kind,
    policy_ids: policyIds,
    reason_code: reasonCode,
    reason,
    fix: fix ?? null,
    obligations: Object.fromEntries(
      Object.entries(obligations).map(([name, value]) => [name === 'approvalTtlMs' ? 'approval_ttl_ms' : name, value]),
    ),
    ...(observed === undefined ? {} : { observed: decisionAsJson(observed) }),
  };
}

export function obligationsText({ obligations }: Decision): string {
  return Object.entries(obligations)
    .map(([name, value]) => (name === 'approvalTtlMs' ? `approval_ttl ${Number(value) / 1000}s` : `${name} ${value}`))
    .join(', ');
}

function answer(decision: Decision, paint: Paint): readonly string[] {
  const { kind, reasonCode, reason, fix, observed } = decision;
  const style = kind === 'allow' ? 'fix' : kind === 'ask' ? 'warning' : 'error';
  const obligations = obligationsText(decision);
  return [
    `${paint(style, kind)} (${reasonCode}): ${safeText(reason)}`,
    ...(fix === undefined ? [] : [`${paint('fix', 'fix:')} ${safeText(fix)}`]),
    ...(obligations === '' ? [] : [`obliges: ${obligations}`]),
    ...(observed === undefined ? [] : [`observed only: ${observed.kind} (${observed.policyIds.join(', ')})`]),
  ];
}

function section(title: string, lines: readonly string[], paint: Paint): readonly string[] {
  return lines.length === 0 ? [] : [paint('title', title), ...lines.map((line) => `  ${line}`.trimEnd())];
}

function factRows(facts: readonly ExplainedFact[]): readonly string[] {
  return renderColumns(
    facts.map(({ name, value, origin, readBy }) => [origin, name, factValue(value), `(${readBy.join(', ')})`]),
  );
}

function factValue(value: unknown): string {
  if (value === undefined) return 'absent';
  // Entities read as in a policy; everything else as JSON, so that a text cannot pass for a set.
  const text = typeof value === 'string' && value.startsWith('Palyra::') ? value : JSON.stringify(value);
  const shown = safeText(text).replaceAll('\n', ' ');
  return shown.length <= LONGEST_VALUE ? shown : `${shown.slice(0, LONGEST_VALUE)}... (${shown.length} characters)`;
}

const LONGEST_VALUE = 200;

function sentence(change: WhatIf): string {
  switch (change.kind) {
    case 'approved': {
      const people = change.approvers === 1 ? 'a human approves it' : `${change.approvers} people approve it`;
      return `${change.answer}, when ${people} (assurance ${change.assurance} or better)`;
    }
    case 'listed':
      return `${change.answer}, if the ${change.lists.join(' and the ')} were on the allowlist`;
    case 'not_leaving':
      return `${change.answer}, if it did not leave the box by: ${change.leavings.join(', ')}`;
    case 'stronger_plan':
      return `${change.answer}, if it were planned in tier ${change.tier} behind ${change.egress} egress`;
    case 'without_forbid': {
      const [first, ...more] = change.policyIds;
      const names = more.length === 0 ? `the forbid ${first}` : `the forbids ${change.policyIds.join(', ')}`;
      return change.answer === 'deny'
        ? `blocked by ${names}, and not by that alone: without, still deny`
        : `blocked by ${names}: without, ${change.answer}`;
    }
    case 'permit_missing':
      return 'no policy permits it: a permit for this principal, action and resource is missing';
  }
}
