import { readFileSync } from 'node:fs';
import { preparsePolicySet, preparseSchema, statefulIsAuthorized } from '@cedar-policy/cedar-wasm/nodejs';
import {
  compilePolicies,
  EVERYTHING_LISTED,
  loadPolicies,
  type PolicyEngine,
  type PolicyRequest,
  toCedarRequest,
} from '@palyra/policy';
import { type Contender, defineBenchmark } from './harness.ts';
import { operatorPolicies, unscopedPolicies } from './operator-policies.ts';

const SCHEMA = readFileSync(new URL('../packages/policy/policies/palyra.cedarschema', import.meta.url), 'utf8');

/** What coding agents send all day: a command that stays in the box. */
const IN_THE_BOX = callOf([]);
/** The same with a host that the workspace has not reached before. */
const NEW_HOST = callOf(['api.example.com:443']);

export default defineBenchmark<undefined>({
  name: 'decide',
  description: 'One decision with the default policies and with operator policies, against one bare Cedar call.',
  baseline: 'bare',
  ratioOf: 'p50_ms',
  setup: () => undefined,
  contenders: [
    bare('bare', ''),
    deciding('default', '', IN_THE_BOX),
    deciding('ask', '', NEW_HOST),
    deciding('again', '', IN_THE_BOX, sameAgain),
    deciding('ops-10', operatorPolicies(10), IN_THE_BOX),
    deciding('ops-1000', operatorPolicies(1000), IN_THE_BOX),
    deciding('ops-1000-unscoped', unscopedPolicies(1000), IN_THE_BOX),
    bare('plain-1000', operatorPolicies(1000)),
  ],
});

/** Cedar alone, on the whole set and the same request: schema, validation and the principal's groups included. */
function bare(name: string, operator: string): Contender<undefined> {
  return {
    name,
    prepare() {
      const { policies } = compilePolicies(sourceWith(operator)).set;
      const staticPolicies = Object.fromEntries(policies.map(({ id, text }) => [id, text]));
      preparseSchema(`bench ${name}`, SCHEMA);
      preparsePolicySet(`bench ${name}`, { staticPolicies });
      const request = toCedarRequest(IN_THE_BOX, EVERYTHING_LISTED, { approved: false, assurance: 'none' });
      const call = {
        ...(request as unknown as Omit<Parameters<typeof statefulIsAuthorized>[0], 'preparsedPolicySetId'>),
        preparsedSchemaName: `bench ${name}`,
        preparsedPolicySetId: `bench ${name}`,
        validateRequest: true,
      };
      return {
        operation() {
          const answer = statefulIsAuthorized(call);
          if (answer.type !== 'success' || answer.response.decision !== 'allow')
            throw new Error(JSON.stringify(answer));
        },
      };
    },
  };
}

/** Answers are remembered, so each request is of another workspace. */
function anotherEachTime(request: PolicyRequest, count: number): PolicyRequest {
  return { ...request, context: { ...request.context, workspace: `shop-${count}` } };
}

/** At another moment, which no policy of the preset reads. */
function sameAgain(request: PolicyRequest, count: number): PolicyRequest {
  return { ...request, context: { ...request.context, now: request.context.now + count } };
}

function deciding(
  name: string,
  operator: string,
  request: PolicyRequest,
  vary: typeof sameAgain = anotherEachTime,
): Contender<undefined> {
  const expected = request === NEW_HOST ? 'ask' : 'allow';
  return {
    name,
    async prepare() {
      const loaded = await loadPolicies(compilePolicies(sourceWith(operator)));
      const engine: PolicyEngine = loaded.engine(EVERYTHING_LISTED);
      let count = 0;
      return {
        operation() {
          count += 1;
          const { kind, reason } = engine.decide(vary(request, count));
          if (kind !== expected) throw new Error(`${kind} instead of ${expected}: ${reason}`);
        },
        close: () => loaded.close(),
      };
    },
  };
}

function sourceWith(text: string): Parameters<typeof compilePolicies>[0] {
  const operator = { name: 'policies/operator.cedar', text, origin: { kind: 'operator' } } as const;
  return { preset: 'coding', files: [operator] };
}

function callOf(hosts: readonly string[]): PolicyRequest {
  return {
    principal: { type: 'Agent', id: 'claude-code' },
    groups: ['agents', 'team-web', 'contractors'],
    action: 'tool.execute',
    resource: { type: 'Tool', id: 'palyra.process.run' },
    context: {
      deviceId: '01JD0000000000000000000000',
      channel: 'cli',
      sessionId: '01JD0000000000000000000001',
      runId: '01JD0000000000000000000002',
      workspace: 'shop',
      coverage: 'wrapped',
      separation: 'personal',
      now: Date.UTC(2026, 10, 16, 9, 30),
      facts: {
        kind: 'call',
        toolName: 'palyra.process.run',
        capabilities: hosts.length > 0 ? ['process_exec', 'network'] : ['process_exec'],
        taints: [],
        enforced: {
          tier: 'C',
          egress: 'strict',
          readRoots: ['/home/ada/shop', '/usr', '/opt/node'],
          writeRoots: ['/home/ada/shop'],
          hosts,
          registryHosts: [],
          clientHosts: [],
          privateHosts: [],
          secrets: [],
          outsidePaths: [],
          protectedPaths: [],
          secretFiles: [],
          neverPaths: [],
          neverSockets: [],
        },
        declared: { executable: 'npm', arguments: ['run', 'test', '--', '--watch=false'], hosts: [], paths: [] },
      },
    },
  };
}
