import type { PromptFacts } from './prompt-facts.ts';

export const RISK_LEVELS = ['low', 'medium', 'high'] as const;
export type RiskLevel = (typeof RISK_LEVELS)[number];

export interface Risk {
  readonly level: RiskLevel;
  readonly reasons: readonly string[];
}

export interface RiskInput {
  readonly facts: PromptFacts;
  /** Bytes of what would run that the prompt has no room for. */
  readonly leftOut: number;
  readonly hasDoubtfulHost: boolean;
}

/** From the plan of this very call; nothing that the agent says makes it smaller. */
export function assessRisk(input: RiskInput): Risk {
  const found = RULES.filter(({ holds }) => holds(input));
  const level = RISK_LEVELS.findLast((each) => found.some((rule) => rule.level === each)) ?? 'low';
  return { level, reasons: found.map(({ reason }) => (typeof reason === 'string' ? reason : reason(input))) };
}

interface RiskRule {
  readonly level: RiskLevel;
  readonly reason: string | ((input: RiskInput) => string);
  holds(input: RiskInput): boolean;
}

const RULES: readonly RiskRule[] = [
  { level: 'high', reason: 'It runs outside the box.', holds: ({ facts }) => facts.tier === 'none' },
  {
    level: 'high',
    reason: 'The agent’s own program does it; nothing of Palyra holds it.',
    holds: ({ facts }) => facts.tier === 'client',
  },
  { level: 'high', reason: 'It runs under limits only, not in a box.', holds: ({ facts }) => facts.tier === 'B' },
  { level: 'high', reason: 'It may reach every host.', holds: ({ facts }) => facts.hasOpenNetwork },
  {
    level: 'high',
    reason: 'A host may not be what it looks like.',
    holds: ({ hasDoubtfulHost }) => hasDoubtfulHost,
  },
  {
    level: 'high',
    reason: 'It changes files that run code later, outside the box.',
    holds: ({ facts }) => facts.protectedPaths.length > 0,
  },
  {
    level: 'high',
    reason: ({ leftOut }) => `It is too long to be shown whole: ${leftOut} more bytes are not shown.`,
    holds: ({ leftOut }) => leftOut > 0,
  },
  {
    level: 'medium',
    reason: 'It reaches files outside the workspace.',
    holds: ({ facts }) => facts.outsidePaths.length > 0,
  },
  { level: 'medium', reason: 'It uses secrets.', holds: ({ facts }) => facts.secrets.length > 0 },
  { level: 'medium', reason: 'It connects to other hosts.', holds: ({ facts }) => facts.hosts.length > 0 },
];
