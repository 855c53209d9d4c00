import { checkName } from './canonical-names.ts';
import { ASSURANCES, EGRESS_MODES, TIERS } from './obligations.ts';
import { PolicyError } from './policy-error.ts';
import type { CallFacts, PolicyRequest, RequestFacts } from './request.ts';

const COVERAGES: readonly string[] = ['wrapped', 'hooked', 'mcp_only', 'direct'];
const SEPARATIONS: readonly string[] = ['personal', 'service', 'remote'];
const CAPABILITIES: readonly string[] = ['process_exec', 'network', 'secrets_read', 'filesystem_write'];

/**
 * What the types promise and Cedar's schema cannot say: to Cedar a tier is any text, and an unknown one is no box at all.
 * Throws `policy.invalid_request`.
 */
export function checkRequest({ action, resource, context }: PolicyRequest): void {
  const { coverage, separation, approval, facts } = context;
  oneOf('coverage', coverage, COVERAGES);
  oneOf('separation', separation, SEPARATIONS);
  if (approval !== undefined) {
    oneOf('assurance', approval.assurance, ASSURANCES);
    if (!Number.isSafeInteger(approval.approvers) || approval.approvers < 1) {
      throw invalid('An approval was given by no whole number of people.');
    }
  }
  if (facts.kind !== factsFor(action)) {
    throw invalid(`The action ${checkName('id', action)} does not take facts of the kind ${facts.kind}.`);
  }
  if (facts.kind === 'call') checkCall(facts, action, resource);
}

/** By the action's family, as the schema has it; whether there is such an action, the schema decides. */
export function factsFor(action: string): RequestFacts['kind'] {
  if (action === 'tool.execute' || action === 'skill.execute') return 'call';
  return action.startsWith('memory.') || action.startsWith('vault.') ? 'stored' : 'situation';
}

function checkCall(facts: CallFacts, action: string, resource: PolicyRequest['resource']): void {
  const { enforced, capabilities, toolName, skillId } = facts;
  oneOf('tier', enforced.tier, TIERS);
  oneOf('egress', enforced.egress, EGRESS_MODES);
  for (const capability of capabilities) oneOf('capability', capability, CAPABILITIES);
  // SECURITY: T-49 — allowlists look at the name and policies at the resource: they must be about the same thing.
  const named = action === 'tool.execute' ? toolName : skillId;
  if (resource.id !== named) throw invalid('The resource is not the tool or skill that the facts name.');
  const hosts = new Set(enforced.hosts);
  for (const host of [...enforced.registryHosts, ...enforced.clientHosts, ...enforced.privateHosts]) {
    if (!hosts.has(host)) throw invalid('A host is of a kind and is not among the hosts.');
  }
}

function oneOf(what: string, value: string, known: readonly string[]): void {
  if (!known.includes(value)) throw invalid(`The ${what} is none of ${known.join(', ')}.`);
}

function invalid(message: string): PolicyError {
  return new PolicyError('policy.invalid_request', message, { fix: 'See docs/reference/policy.md.' });
}
