import { PolicyError } from './policy-error.ts';
import type { Assurance, EnforcedFacts } from './request.ts';

/** What must hold for the answer to count, taken from annotations on the policies that determined it. */
export interface Obligations {
  /** The call runs at least in this tier, or behind this egress. */
  readonly tier?: 'B' | 'C' | 'A';
  readonly egress?: 'preflight' | 'strict';
  /** How many people must approve, and how well they must be known. */
  readonly approvers?: number;
  readonly assurance?: Assurance;
  readonly approvalTtlMs?: number;
  /** How far an approval may reach at most. */
  readonly offer?: Offer;
}

export type Offer = 'once' | 'session' | 'always';

/** From weak to strong. */
export const TIERS: readonly EnforcedFacts['tier'][] = ['none', 'client', 'built_in', 'B', 'C', 'A'];
export const EGRESS_MODES: readonly EnforcedFacts['egress'][] = ['none', 'preflight', 'strict'];
export const ASSURANCES: readonly Assurance[] = ['same_host_key', 'separate_device', 'user_verified'];
const OFFERS: readonly Offer[] = ['once', 'session', 'always'];

/** Annotations that say something about a policy and oblige nobody. */
const TEXTS: ReadonlySet<string> = new Set(['id', 'reason', 'fix']);

type Parse = (value: string) => Obligations | undefined;

const PARSERS: Readonly<Record<string, Parse>> = {
  tier: (value) => oneOf(value, ['B', 'C', 'A'] as const, (tier) => ({ tier })),
  egress: (value) => oneOf(value, ['preflight', 'strict'] as const, (egress) => ({ egress })),
  approvers: (value) => (/^[1-9]$/.test(value) ? { approvers: Number(value) } : undefined),
  assurance: (value) => oneOf(value, ASSURANCES, (assurance) => ({ assurance })),
  approval_ttl: (value) => parseDuration(value),
  offer: (value) => oneOf(value, OFFERS, (offer) => ({ offer })),
};

/** Throws `policy.invalid_annotation`: a misspelt obligation that nobody enforces would be worse than none. */
export function parseObligations(annotations: Readonly<Record<string, string>>): Obligations {
  let obligations: Obligations = {};
  for (const [name, value] of Object.entries(annotations)) {
    if (TEXTS.has(name)) continue;
    const parse = Object.hasOwn(PARSERS, name) ? PARSERS[name] : undefined;
    const parsed = parse?.(value);
    if (parsed === undefined) throw invalidAnnotation(name, value, parse !== undefined);
    obligations = { ...obligations, ...parsed };
  }
  return obligations;
}

/** Several policies determined the answer: of each kind the most restrictive obligation holds. */
export function combineObligations(all: readonly Obligations[]): Obligations {
  const tier = highest(TIERS, values(all, 'tier'));
  const egress = highest(EGRESS_MODES, values(all, 'egress'));
  const assurance = highest(ASSURANCES, values(all, 'assurance'));
  const approvers = Math.max(...values(all, 'approvers'));
  const approvalTtlMs = Math.min(...values(all, 'approvalTtlMs'));
  const offer = highest([...OFFERS].toReversed(), values(all, 'offer'));
  return {
    ...(tier === undefined ? {} : { tier }),
    ...(egress === undefined ? {} : { egress }),
    ...(assurance === undefined ? {} : { assurance }),
    ...(Number.isFinite(approvers) ? { approvers } : {}),
    ...(Number.isFinite(approvalTtlMs) ? { approvalTtlMs } : {}),
    ...(offer === undefined ? {} : { offer }),
  };
}

const UNITS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

function parseDuration(value: string): Obligations | undefined {
  const [, amount, unit = ''] = /^([1-9]\d{0,5})([smhd])$/.exec(value) ?? [];
  const factor = UNITS[unit];
  return amount === undefined || factor === undefined ? undefined : { approvalTtlMs: Number(amount) * factor };
}

function oneOf<Choice extends string>(
  value: string,
  choices: readonly Choice[],
  make: (choice: Choice) => Obligations,
): Obligations | undefined {
  const choice = choices.find((candidate) => candidate === value);
  return choice === undefined ? undefined : make(choice);
}

function values<Key extends keyof Obligations>(
  all: readonly Obligations[],
  key: Key,
): readonly NonNullable<Obligations[Key]>[] {
  return all.map((obligations) => obligations[key]).filter((value) => value !== undefined);
}

function highest<Value extends string>(order: readonly string[], found: readonly Value[]): Value | undefined {
  return found.toSorted((a, b) => order.indexOf(b) - order.indexOf(a))[0];
}

function invalidAnnotation(name: string, value: string, isKnown: boolean): PolicyError {
  const known = [...TEXTS, ...Object.keys(PARSERS)].map((annotation) => `@${annotation}`).join(', ');
  return isKnown
    ? new PolicyError(
        'policy.invalid_annotation',
        `@${name}(${JSON.stringify(value)}) has a value that means nothing.`,
        {
          fix: 'See docs/reference/policy.md for the values it takes.',
        },
      )
    : new PolicyError('policy.invalid_annotation', `@${name} is not an annotation we know.`, {
        fix: `Known are ${known}.`,
      });
}
