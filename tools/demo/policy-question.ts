import { compilePolicies, EVERYTHING_LISTED, loadPolicies, readWrittenRequest } from '@palyra/policy';
import { holds, type Stage } from './stage.ts';

/** The default preset on three calls: the box is the permission, leaving it is a question, some things are never. */
export async function showPolicy({ say }: Stage): Promise<void> {
  const loaded = await loadPolicies(compilePolicies({ preset: 'coding', files: [] }));
  const engine = loaded.engine(EVERYTHING_LISTED);
  const calls = [
    ['npm test, in the box', {}, 'allow'],
    [
      'the same, to example.com',
      { capabilities: ['process_exec', 'network'], enforced: { hosts: ['example.com:443'] } },
      'ask',
    ],
    ['the same, with ~/.ssh', { enforced: { never_paths: ['/home/ada/.ssh'] } }, 'deny'],
  ] as const;
  for (const [what, facts, expected] of calls) {
    const { kind, policyIds, reason } = engine.decide(readWrittenRequest(facts).request);
    say(`${what.padEnd(26)} ${kind.padEnd(6)} ${policyIds.join(', ')}${kind === 'allow' ? '' : `: ${reason}`}`);
    holds(kind === expected, `${what} is answered with ${expected}`);
  }
  loaded.close();
}
