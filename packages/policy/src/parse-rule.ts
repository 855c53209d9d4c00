import { visibleText } from '@palyra/primitives';
import type { AskedEffect } from './always-here.ts';
import { PolicyError } from './policy-error.ts';

/** Everything that the words of a rule may leave open. */
export interface RuleWords {
  /** `KIND:WHAT`, as a person writes it: `RULE_FORMS`. */
  readonly text: string;
  /** The real path of the workspace, where relative paths begin. */
  readonly workspaceRoot: string;
  /** `host:port` of the package registries that the operator knows; what `registries` stands for. */
  readonly registryHosts: readonly string[];
}

/** What can be written after `palyra allow`, and what it means. */
export const RULE_FORMS: Readonly<Record<string, string>> = {
  'host:HOST[:PORT]': 'connections to that host, port 443 unless told',
  registries: 'packages from the registries that the operator configured',
  'registries:HOST:PORT,…': 'packages from these registries',
  'secret-file:PATH': 'reading that file, which looks as if it held secrets',
  'secret-file-write:PATH': 'writing it',
  'outside-path:PATH': 'reading that path outside the workspace, where the policies offer it for good',
  'outside-path-write:PATH': 'writing it',
  'mcp-tool:SERVER:TOOL:SHA256':
    'that tool of that MCP server at that definition, where the policies offer it for good',
};

/**
 * The effect that the words stand for. Throws `policy.invalid_request` for a kind that there is not; whether its names are
 * canonical is found when the rule is made, and nothing is repaired on the way.
 */
export function parseRule({ text, workspaceRoot, registryHosts }: RuleWords): AskedEffect {
  const at = text.indexOf(':');
  const [kind, what] = at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
  const path = what.startsWith('/') ? what : `${workspaceRoot}/${what}`;
  switch (kind) {
    case 'host':
      return { kind: 'host', host: withPort(what) };
    case 'registries':
      return { kind: 'registries', hosts: at < 0 ? registryHosts : what.split(',').map(withPort) };
    case 'secret-file':
    case 'secret-file-write':
      return { kind: 'path', fact: 'secret_file', path, mode: modeOf(kind) };
    case 'outside-path':
    case 'outside-path-write':
      return { kind: 'path', fact: 'outside_path', path, mode: modeOf(kind) };
    case 'mcp-tool': {
      const [server = '', tool = '', definitionSha256 = '', ...more] = what.split(':');
      if (more.length === 0) return { kind: 'upstream', server, tool, definitionSha256 };
    }
  }
  throw new PolicyError('policy.invalid_request', `${JSON.stringify(visibleText(text.slice(0, 80)))} is no rule.`, {
    fix: `A rule is written as ${Object.keys(RULE_FORMS).join(', ')}.`,
  });
}

function withPort(host: string): string {
  return /:\d+$/.test(host) && !host.endsWith(']') ? host : `${host}:443`;
}

function modeOf(kind: string): 'read' | 'write' {
  return kind.endsWith('-write') ? 'write' : 'read';
}
