import { sha256OfParts, visibleText } from '@palyra/primitives';
import { checkName, checkNames } from './canonical-names.ts';
import type { Offer } from './obligations.ts';
import { PolicyError } from './policy-error.ts';

/** What a human was asked about and may allow in one workspace for good. */
export type AskedEffect =
  /** `host:port`. */
  | { readonly kind: 'host'; readonly host: string }
  /** The same for a wrapped agent, whose call has the hosts of its profile besides: just these. */
  | { readonly kind: 'agent_host'; readonly host: string; readonly clientHosts: readonly string[] }
  | { readonly kind: 'registries'; readonly hosts: readonly string[] }
  /** The root that the plan grants, exactly as it stands in the facts; everything below it comes with it. */
  | {
      readonly kind: 'path';
      readonly fact: 'secret_file' | 'outside_path';
      readonly path: string;
      readonly mode: 'read' | 'write';
    }
  /** A tool of another MCP server, for as long as its definition has this digest. */
  | { readonly kind: 'upstream'; readonly tool: string; readonly server: string; readonly definitionSha256: string };

export interface AlwaysHereInput {
  readonly workspace: string;
  readonly effect: AskedEffect;
  /** Of the decision that asked. */
  readonly offer: Offer | undefined;
}

export interface AlwaysHereRule {
  /** The same for the same effect in the same workspace. */
  readonly id: string;
  readonly workspace: string;
  readonly reason: string;
  /** One Cedar policy, lines separated by `\n`, none at the end. */
  readonly policyText: string;
  /** One `[[test]]`, likewise. */
  readonly testText: string;
}

const DOMAIN = 'palyra/always-here/v2';

/**
 * The narrowest rule that answers the question for good: this effect, nothing else that leaves the box, in this
 * workspace, in Tier A or C or by a built-in tool behind strict egress, or by an agent's own tool. Throws `policy.invalid_request` for what was not offered for good
 * and for names that are not canonical.
 */
export function alwaysHereRule({ workspace, effect, offer }: AlwaysHereInput): AlwaysHereRule {
  refuseUnlessOffered(effect, offer);
  // SECURITY: T-03 — what was shown is what is allowed: names in any other spelling could mean more than was asked.
  checkName('id', workspace);
  const parts = partsOf(effect);
  const id = `always-${sha256OfParts(DOMAIN, [workspace, ...parts.identity]).slice(0, 32)}`;
  const reason = `Allowed in this workspace for good: ${parts.shown}.`;
  const conditions = [
    `context has workspace && context.workspace == Palyra::Workspace::${cedarText(workspace)}`,
    // Our own code keeps to what it was given; what runs other code outside a box is another way of leaving it.
    // An agent's own tool keeps to what its program was told, which is all that the question was about; code that it runs is
    // `unboxed`, and then `leaves` is not what the rule says.
    '["A", "C", "built_in", "client"].contains(context.enforced.tier)',
    '(context.enforced.egress == "strict" || (context.enforced.tier == "client" && context.enforced.egress == "preflight"))',
    ...parts.conditions,
  ];
  const policyText = [
    `@id("${id}")`,
    `@reason(${cedarText(reason)})`,
    `permit (principal, ${parts.scope})`,
    'when {',
    `  ${conditions.join(' &&\n  ')}`,
    '};',
  ].join('\n');
  const testText = [
    '[[test]]',
    `name = "${id} allows what was asked"`,
    `workspace = ${tomlText(workspace)}`,
    'capabilities = []',
    ...parts.testLines,
    'expect = "allow"',
  ].join('\n');
  return { id, workspace, reason, policyText, testText };
}

/** As Cedar writes it. Everything but plain ASCII is escaped: a reviewer must see each character, and no text ends early. */
function cedarText(text: string): string {
  // SECURITY: T-03 — a path may hold any character, and its author is the agent.
  const escaped = text.replaceAll(/[^ -~]|["\\]/gu, (character) => `\\u{${codePoint(character)}}`);
  return `"${escaped}"`;
}

/** As TOML writes it, in a basic string. */
function tomlText(text: string): string {
  const escaped = text.replaceAll(/[^ -~]|["\\]/gu, (character) => `\\U${codePoint(character).padStart(8, '0')}`);
  return `"${escaped}"`;
}

function codePoint(character: string): string {
  return (character.codePointAt(0) ?? 0).toString(16);
}

const KINDS: ReadonlySet<string> = new Set([
  'host',
  'agent_host',
  'registries',
  'path',
  'upstream',
] satisfies AskedEffect['kind'][]);
const PATH_FACTS: Readonly<Record<string, string>> = { secret_file: 'secret_files', outside_path: 'outside_paths' };

function refuseUnlessOffered(effect: AskedEffect, offer: Offer | undefined): void {
  const isKnown = KINDS.has(effect.kind) && (effect.kind !== 'path' || Object.hasOwn(PATH_FACTS, effect.fact));
  if (isKnown && offer === 'always') return;
  const far = offer === undefined ? 'nothing' : offer === 'session' ? 'this session' : 'this one time';
  throw new PolicyError(
    'policy.invalid_request',
    isKnown ? `The question offered ${far}, not for good.` : 'An effect of this kind is never allowed for good.',
    { fix: 'Approve it as far as it was offered, or write a policy by hand: docs/reference/policy.md.' },
  );
}

interface RuleParts {
  readonly identity: readonly string[];
  readonly shown: string;
  readonly scope: string;
  readonly conditions: readonly string[];
  readonly testLines: readonly string[];
}

const ANY_CALL = 'action in Palyra::Action::"execute", resource';

function partsOf(effect: AskedEffect): RuleParts {
  switch (effect.kind) {
    case 'host':
      return hostParts(checkName('host', effect.host));
    case 'agent_host':
      return agentHostParts(
        checkName('host', effect.host),
        [...new Set(checkNames('host', effect.clientHosts))].toSorted(),
      );
    case 'registries':
      return registryParts([...new Set(checkNames('host', effect.hosts))].toSorted());
    case 'path':
      return pathParts(effect.fact, checkName('path', effect.path), effect.mode);
    case 'upstream':
      return upstreamParts(
        checkName('tool', effect.tool),
        checkName('id', effect.server),
        checkName('sha256', effect.definitionSha256),
      );
  }
}

function hostParts(host: string): RuleParts {
  return {
    identity: ['host', host],
    shown: `connections to ${visibleText(host)}`,
    scope: ANY_CALL,
    // Cedar has no quantifiers over sets, so "every host is this one" is said the other way round.
    conditions: ['context.enforced.leaves == ["host"]', `[${cedarText(host)}].containsAll(context.enforced.hosts)`],
    testLines: [`enforced.hosts = [${tomlText(host)}]`],
  };
}

/** For the agent itself, in its box: a command beside it that wants the host is another question. */
function agentHostParts(host: string, clientHosts: readonly string[]): RuleParts {
  if (clientHosts.length === 0) {
    throw new PolicyError('policy.invalid_request', 'A rule for a wrapped agent names the hosts of its profile.');
  }
  const own = clientHosts.map(cedarText).join(', ');
  return {
    identity: ['agent_host', host, ...clientHosts],
    shown: `a wrapped agent’s connections to ${visibleText(host)}`,
    scope: ANY_CALL,
    conditions: [
      'context.coverage == "wrapped" && context.enforced.tier == "C"',
      'context.enforced.leaves == ["client_host", "host"]',
      // SECURITY: T-03 — all of them its own: for a profile that has other hosts, these would be hosts that nobody was asked about.
      `context.enforced.client_hosts.containsAll([${own}])`,
      `[${cedarText(host)}, ${own}].containsAll(context.enforced.hosts)`,
    ],
    testLines: [
      'coverage = "wrapped"',
      `enforced.hosts = [${[host, ...clientHosts].map(tomlText).join(', ')}]`,
      `enforced.client_hosts = [${clientHosts.map(tomlText).join(', ')}]`,
    ],
  };
}

function registryParts(hosts: readonly string[]): RuleParts {
  if (hosts.length === 0) throw new PolicyError('policy.invalid_request', 'A rule for registries names at least one.');
  const set = `[${hosts.map(cedarText).join(', ')}]`;
  return {
    identity: ['registries', ...hosts],
    shown: `packages from ${hosts.map((host) => visibleText(host)).join(', ')}`,
    scope: ANY_CALL,
    conditions: [
      'context.enforced.leaves == ["registry"]',
      `${set}.containsAll(context.enforced.registry_hosts)`,
      `${set}.containsAll(context.enforced.hosts)`,
    ],
    testLines: [`enforced.registry_hosts = [${hosts.map(tomlText).join(', ')}]`],
  };
}

/** A root that is granted by itself has the mode of the list it stands in, whatever lies above it. */
function pathParts(fact: 'secret_file' | 'outside_path', path: string, mode: 'read' | 'write'): RuleParts {
  const name = PATH_FACTS[fact] ?? '';
  const text = cedarText(path);
  const written = mode === 'write';
  if (!written && mode !== 'read') throw new PolicyError('policy.invalid_request', 'A path is for reading or writing.');
  return {
    identity: ['path', fact, mode, path],
    shown: `${written ? 'writing' : 'reading'} ${visibleText(path, { maxCharacters: 200 })}`,
    scope: ANY_CALL,
    conditions: [
      `context.enforced.leaves == ["${fact}"]`,
      `[${text}].containsAll(context.enforced.${name})`,
      written
        ? `context.enforced.write_roots.contains(${text})`
        : `context.enforced.read_roots.contains(${text}) && !context.enforced.write_roots.contains(${text})`,
    ],
    testLines: [
      `enforced.${name} = [${tomlText(path)}]`,
      `enforced.${written ? 'write_roots' : 'read_roots'} = [${tomlText(path)}]`,
    ],
  };
}

function upstreamParts(tool: string, server: string, digest: string): RuleParts {
  return {
    identity: ['upstream', tool, server, digest],
    shown: `the tool ${visibleText(tool)} of ${visibleText(server)} at definition ${digest.slice(0, 12)}`,
    scope: `action == Palyra::Action::"tool.execute", resource == Palyra::Tool::${cedarText(tool)}`,
    conditions: [
      'context.enforced.leaves == ["upstream"]',
      'context.enforced has upstream',
      `context.enforced.upstream.server == ${cedarText(server)}`,
      `context.enforced.upstream.definition_sha256 == "${digest}"`,
    ],
    testLines: [
      `resource = ${tomlText(`tool:${tool}`)}`,
      `enforced.upstream = { server = ${tomlText(server)}, definition_sha256 = "${digest}" }`,
    ],
  };
}
