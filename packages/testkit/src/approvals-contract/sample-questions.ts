import type { Effect, Needs, Question } from '@palyra/approvals';
import { PLAIN_NEEDS } from '@palyra/approvals';
import { sha256Hex } from '@palyra/primitives';

export interface SampleQuestion {
  readonly key?: string;
  readonly run?: string;
  readonly credential?: string;
  readonly argv?: readonly string[];
  readonly principal?: string;
  readonly session?: string;
  readonly workspace?: string;
  readonly effects?: readonly Effect[];
  readonly needs?: Partial<Needs>;
  readonly policySet?: string;
  readonly agentSays?: string | null;
  readonly canWriteRule?: boolean;
}

export const SAMPLE_HOST: Effect = { kind: 'host', host: 'api.example.com', port: 443, secret: null };

let count = 0;

/** A call that connects to a host, unless told; every one has a key of its own, unless told. */
export function sampleQuestion(sample: SampleQuestion = {}): Question {
  count += 1;
  const { argv = ['curl', 'https://api.example.com/v1'], effects = [SAMPLE_HOST], policySet = 'p1' } = sample;
  return {
    key: sample.key ?? `call ${count}`,
    run: sample.run ?? 'run 1',
    credential: sample.credential ?? 'agent token',
    subject: {
      action: 'palyra.process.run/1',
      arguments: { argv },
      bound: [{ name: '/usr/bin/curl', sha256: sha256Hex('curl') }],
      skill: null,
      profile: sha256Hex('profile'),
      workspace: sample.workspace ?? 'shop',
      principal: sample.principal ?? 'agent:coder',
      session: sample.session ?? 'session 1',
    },
    effects,
    facts: {
      action: { kind: 'command', argv },
      cwd: '/work/shop',
      workspacePath: '/work/shop',
      hosts: effects.flatMap((effect) => (effect.kind === 'host' ? [`${effect.host}:${effect.port}`] : [])),
      knownHosts: [],
      hasOpenNetwork: false,
      secrets: [],
      tier: 'C',
      outsidePaths: [],
      protectedPaths: [],
      notBound: ['libraries that curl loads'],
      agentSays: sample.agentSays ?? null,
    },
    needs: { ...PLAIN_NEEDS, offer: 'always', ...sample.needs },
    policy: {
      set: policySet,
      ids: ['new-host'],
      reason: 'The call reaches a host that is new here.',
      canWriteRule: sample.canWriteRule ?? true,
    },
  };
}
