import {
  type ConnectionAttempt,
  canonicalTarget,
  type Egress,
  type FetchResult,
  isMalformed,
  type Target,
} from '@palyra/egress';
import type { Clock, JsonObject, JsonValue } from '@palyra/primitives';
import { canonicalJson, describeError } from '@palyra/primitives';
import type { Tool, ToolMetadata, ToolPlan, ToolRefusal, ToolResult } from '../catalog/tool.ts';
import { type BindCredentials, credentialsOf } from '../connections/bound-credentials.ts';
import { egressCall } from '../connections/call-network.ts';
import { hostAndPort, isPrivateTarget } from '../connections/named-network.ts';
import { attestedUse, toldUse } from '../connections/network-use.ts';
import { DEFAULT_OPERATOR_NETWORK, type OperatorNetwork } from '../connections/operator-network.ts';
import { builtInFacts, builtInPlan, REACHES_NOTHING } from './built-in-plan.ts';
import { timeIsOver } from './time-is-over.ts';
import { TOOL_OUTCOMES } from './tool-outcomes.ts';

/** What the caller of `palyra.http.fetch` writes. */
interface FetchInput {
  readonly url: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly content_types?: readonly string[];
  readonly max_bytes?: number;
  readonly timeout_ms?: number;
}

export interface HttpFetchDeps {
  readonly egress?: Pick<Egress, 'fetch'>;
  readonly network?: OperatorNetwork;
  /** Which hosts get a credential that the caller never sees; absent: none. */
  readonly credentials?: BindCredentials;
  readonly clock: Clock;
}

const MIB = 1024 * 1024;
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

const INPUT: JsonObject = {
  type: 'object',
  properties: {
    url: {
      type: 'string',
      description: 'http:// or https://, without a user or password.',
      minLength: 8,
      maxLength: 8192,
    },
    method: { type: 'string', description: 'GET unless told.', enum: METHODS },
    headers: {
      type: 'object',
      description: 'Headers, by name. Those of the connection itself are the proxy’s.',
      additionalProperties: { type: 'string', maxLength: 8192 },
      propertyNames: { pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$" },
      maxProperties: 64,
    },
    body: { type: 'string', description: 'What is sent.', maxLength: MIB },
    content_types: {
      type: 'array',
      description: 'Kinds of answers that are taken, such as text/* or application/json; all unless told.',
      items: { type: 'string', minLength: 3, maxLength: 128 },
      maxItems: 16,
    },
    max_bytes: {
      type: 'integer',
      description: 'The longest answer, unpacked; 1 MiB unless told.',
      minimum: 1,
      maximum: 2 * MIB,
    },
    timeout_ms: {
      type: 'integer',
      description: 'How long it may take; a minute unless told.',
      minimum: 1,
      maximum: 600_000,
    },
  },
  required: ['url'],
  additionalProperties: false,
};

const METADATA: ToolMetadata = {
  name: 'palyra.http.fetch',
  version: '1',
  description:
    'Makes one HTTP request to one host, decided as every connection is; redirects are followed, each to a host that is decided anew. Status, headers and where it came from are in output, the body in stdout.',
  inputSchema: INPUT,
  capabilities: ['network'],
  isSensitive: true,
  tier: 'built_in',
  isParallel: true,
  isHidden: false,
};

interface Prepared {
  readonly input: FetchInput;
  readonly target: Target;
}

/** One request by palyrad's own proxy, under the rules that hold for every connection. */
export function createHttpFetch(deps: HttpFetchDeps): Tool {
  const { egress, network = DEFAULT_OPERATOR_NETWORK, clock } = deps;
  return {
    metadata: METADATA,
    async plan(given, place) {
      const input = given as unknown as FetchInput;
      const target = targetOf(input.url);
      if ('code' in target) return target;
      if (egress === undefined) return NO_WAY_OUT;
      const wallMs = Math.min(place.timeoutMs, input.timeout_ms ?? 60_000);
      return planOf({ input, target }, given, { network, wallMs });
    },
    async execute(permitted, { signal, connect }) {
      if (egress === undefined) return NO_WAY_OUT;
      const { plan } = permitted;
      const { input, target } = plan.prepared as Prepared;
      const startedAt = clock.now();
      const attempts = new Map<number, ConnectionAttempt>();
      try {
        // The proxy opens its TLS itself, so none has to be ended.
        const { credential } = await credentialsOf(permitted, deps.credentials);
        const call = egressCall(network, {
          mode: 'strict',
          rules: [{ kind: 'exact', host: target.host, ports: [target.port] }],
          // SECURITY: T-23 — a redirect to another host is another connection: decided like the first, before it is made.
          ...(connect === undefined ? {} : { ask: connect }),
          ...(credential === undefined ? {} : { credential }),
          onAttempt: (attempt) => void attempts.set(attempt.number, attempt),
        });
        const result = await egress.fetch(call, { ...requestOf(input, plan), signal });
        const use = { mode: 'strict', hadWayOut: true, attempts: [...attempts.values()] } as const;
        const ran = { ...builtInFacts(startedAt, clock.now()), ...attestedUse(use) };
        return resultOf(result, { ran, told: toldUse(use), isTimeOver: timeIsOver(signal), isStopped: signal.aborted });
      } catch (error) {
        const { code, message, fix } = describeError(error);
        if (attempts.size > 0) {
          // SECURITY: T-32 — what it connected to is on record, whatever became of it.
          const use = attestedUse({ attempts: [...attempts.values()] });
          return { kind: 'unknown_outcome', code, message, ran: { ...builtInFacts(startedAt, clock.now()), ...use } };
        }
        return { kind: 'refused', code, message, fix };
      }
    },
  };
}

const NO_WAY_OUT: ToolRefusal = {
  kind: 'refused',
  code: 'gateway.tool_not_allowed',
  message: 'There is no proxy here, and so no way out.',
  fix: 'See what palyrad says of its proxy: palyra status.',
};

function targetOf(url: string): Target | ToolRefusal {
  const parsed = URL.parse(url);
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) return invalid('The url is not one of http or https.');
  // SECURITY: T-24 — what is written there is shown, kept and sent along; credentials have a place of their own.
  if (parsed.username !== '' || parsed.password !== '') return invalid('The url holds a user or a password.');
  const target = canonicalTarget(parsed.href);
  return isMalformed(target) ? invalid('The url names no host.') : target;
}

function invalid(message: string): ToolRefusal {
  return { kind: 'refused', code: 'gateway.invalid_input', message, fix: 'Write it as https://HOST/PATH.' };
}

interface PlanPlace {
  readonly network: OperatorNetwork;
  readonly wallMs: number;
}

function planOf(prepared: Prepared, given: JsonObject, { network, wallMs }: PlanPlace): ToolPlan {
  const { input, target } = prepared;
  const host = hostAndPort(target);
  const isPlain = input.headers === undefined && input.body === undefined;
  return {
    ...builtInPlan(METADATA, given, wallMs),
    enforced: {
      ...REACHES_NOTHING,
      hosts: [host],
      registryHosts: network.registryHosts.includes(host) ? [host] : [],
      privateHosts: isPrivateTarget(target, network.privateRanges) ? [host] : [],
    },
    declared: { arguments: [], hosts: [host], paths: [] },
    // SECURITY: T-08 — what is sent along is shown, too.
    shown: isPlain
      ? { kind: 'url', method: input.method ?? 'GET', url: input.url }
      : { kind: 'call', name: METADATA.name, arguments: canonicalJson(given) },
    prepared,
  };
}

function requestOf({ url, method, headers, body, content_types, max_bytes }: FetchInput, { limits }: ToolPlan) {
  return {
    url,
    ...(method === undefined ? {} : { method }),
    ...(headers === undefined ? {} : { headers }),
    ...(body === undefined ? {} : { body: Buffer.from(body) }),
    ...(content_types === undefined ? {} : { contentTypes: content_types }),
    limits: { bodyBytes: max_bytes ?? MIB, totalMs: limits['wall_ms'] ?? 60_000 },
  };
}

interface Told {
  readonly ran: Extract<ToolResult, { kind: 'completed' }>['ran'];
  readonly told: JsonObject;
  readonly isTimeOver: boolean;
  readonly isStopped: boolean;
}

function resultOf(result: FetchResult, { ran, told, isTimeOver, isStopped }: Told): ToolResult {
  const hops = result.hops.map(({ url, status }): JsonValue => ({ url, status }));
  if (result.kind === 'response') {
    const { status, url, headers, body } = result;
    const output = { status, url, headers: headers.map(([name, value]): JsonValue => [name, value]), hops, ...told };
    return { kind: 'completed', stdout: body, output, ran };
  }
  const output = { hops, ...told };
  if (isTimeOver) return { kind: 'timed_out', ...saying('tool.timed_out'), output, ran };
  if (isStopped) return { kind: 'cancelled', ...saying('tool.cancelled'), output, ran };
  const { code, message, fix } = result.denial;
  return { kind: 'failed', code, message, fix, output, ran };
}

function saying(code: 'tool.timed_out' | 'tool.cancelled'): { readonly code: string; readonly message: string } {
  return { code, message: TOOL_OUTCOMES[code] };
}
