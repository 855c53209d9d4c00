import type { PolicyDiff, Witness } from '@palyra/policy';
import { systemClock, visibleText } from '@palyra/primitives';
import { CliError } from '../cli-error.ts';
import type { CommandDefinition } from '../command.ts';
import { type FoundPolicies, findPolicies } from '../find-policies.ts';
import { decisionAsJson, obligationsText } from '../render/explanation.ts';
import type { Paint } from '../render/paint.ts';

/** Shows requests that two sets of policies answer differently. */
export const policyDiff: CommandDefinition = {
  name: 'policy diff',
  group: 'Policy',
  summary: 'Show what a change of policies newly allows',
  details:
    'Looks for requests that are newly allowed, asked or denied, and prints the smallest of each kind. It is a search, ' +
    'not a proof: finding nothing does not mean that nothing changed. Without arguments it compares the preset alone ' +
    'with the policies of the home, with one argument that directory with the home. Exits with 0 whether or not there ' +
    'are differences, with 2 when policies are wrong. Needs no daemon.',
  arguments: [
    { name: 'BEFORE', summary: 'A directory of policies; else the preset alone', isRequired: false },
    { name: 'AFTER', summary: 'A directory of policies; else those of the home', isRequired: false },
  ],
  options: [{ flags: '--limit <COUNT>', summary: 'How many requests to try at most (5000)' }],
  async run({ arguments: [typedBefore, typedAfter], options }, context) {
    const mostRequests = limitOf(options['limit']);
    const after = await findPolicies(typedAfter, context);
    const before = typedBefore === undefined ? presetAlone(after) : await findPolicies(typedBefore, context);
    const diff = await compare(before, after, mostRequests);
    const names = {
      before: typedBefore === undefined ? `preset ${before.preset}` : before.directory,
      after: after.directory,
    };
    return {
      json: { ...names, ...asJson(diff), warnings: after.warnings },
      render: (paint) => renderDiff(diff, names, paint),
      warnings: after.warnings,
    };
  },
};

function limitOf(typed: unknown): number | undefined {
  if (typed === undefined) return undefined;
  const limit = Number(typed);
  if (Number.isInteger(limit) && limit >= 1 && limit <= 1_000_000) return limit;
  throw new CliError('cli.invalid_option', '--limit takes a whole number from 1 to 1000000.', {
    fix: 'Leave it out for 5000.',
  });
}

function presetAlone(found: FoundPolicies): FoundPolicies {
  return { ...found, files: [], tests: [] };
}

async function compare(
  before: FoundPolicies,
  after: FoundPolicies,
  mostRequests: number | undefined,
): Promise<PolicyDiff> {
  const { compilePolicies, diffPolicySets, EVERYTHING_LISTED, loadPolicies, parsePolicyTests } = await import(
    '@palyra/policy'
  );
  const tests = [before, after].flatMap((found) => parsePolicyTests(found.tests).map(({ request }) => request));
  const [old, young] = [compilePolicies(before), compilePolicies(after)];
  const [oldLoaded, youngLoaded] = [await loadPolicies(old), await loadPolicies(young)];
  try {
    return diffPolicySets(
      { policies: old.set.policies, engine: oldLoaded.engine },
      { policies: young.set.policies, engine: youngLoaded.engine },
      {
        config: EVERYTHING_LISTED,
        clock: systemClock,
        tests,
        ...(mostRequests === undefined ? {} : { mostRequests, mostMs: Number.POSITIVE_INFINITY }),
      },
    );
  } finally {
    oldLoaded.close();
    youngLoaded.close();
  }
}

interface Names {
  readonly before: string;
  readonly after: string;
}

function asJson({ method, changes, witnesses, leftOut, tried, ended }: PolicyDiff): Readonly<Record<string, unknown>> {
  return {
    method,
    tried,
    ended,
    changes,
    left_out: leftOut,
    witnesses: witnesses.map(({ change, action, facts, before, after, changedPolicyIds }) => ({
      change,
      action,
      facts,
      before: decisionAsJson(before),
      after: decisionAsJson(after),
      changed_policy_ids: changedPolicyIds,
    })),
  };
}

const TITLES: Readonly<Record<Witness['change'], string>> = {
  newly_allowed: 'Newly allowed',
  newly_asked: 'Newly asked',
  newly_denied: 'Newly denied',
  obligations_changed: 'Same answer, other obligations',
};

function renderDiff(diff: PolicyDiff, { before, after }: Names, paint: Paint): string {
  const { witnesses, changes } = diff;
  const changed = Object.entries(changes).flatMap(([how, ids]: [string, readonly string[]]) =>
    ids.length === 0 ? [] : [`${how}: ${ids.join(', ')}`],
  );
  const titles = [...new Set(witnesses.map(({ change }) => change))];
  const parts = titles.map((title) =>
    [
      paint('title', TITLES[title]),
      ...witnesses.filter(({ change }) => change === title).map((witness) => renderWitness(witness, paint)),
    ].join('\n'),
  );
  return [
    `${visibleText(before)} -> ${visibleText(after)}`,
    ...changed,
    '',
    ...separated(parts),
    ending(diff),
    '',
  ].join('\n');
}

function separated(parts: readonly string[]): readonly string[] {
  return parts.flatMap((part) => [part, '']);
}

function renderWitness({ action, facts, before, after }: Witness, paint: Paint): string {
  const named = Object.entries(facts).map(([name, value]) => `    ${name} = ${visibleText(JSON.stringify(value))}`);
  const told = [before, after].map((decision) => {
    const obligations = obligationsText(decision);
    const ids = decision.policyIds.length === 0 ? 'no policy' : decision.policyIds.join(', ');
    return `${decision.kind} (${ids})${obligations === '' ? '' : ` ${obligations}`}`;
  });
  return [`  ${paint('name', action)}`, ...named, `    ${told[0]} -> ${told[1]}`].join('\n');
}

function ending({ tried, ended, witnesses, leftOut }: PolicyDiff): string {
  switch (ended) {
    case 'nothing_changed':
      return 'The policies are the same.';
    case 'searched':
    case 'out_of_requests':
    case 'out_of_time': {
      const why =
        ended === 'searched' ? '' : ended === 'out_of_time' ? ', until the time was up' : ', the most allowed';
      const none = witnesses.length === 0 ? 'No difference was found. ' : '';
      const more = leftOut === 0 ? '' : `${leftOut} more kinds of difference are not shown. `;
      return `${none}${more}This is a search, not a proof: ${tried} requests were tried${why}.`;
    }
  }
}
