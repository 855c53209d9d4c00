import type { Effect } from '@palyra/approvals';
import { type AskedEffect, leavingsOf } from '@palyra/policy';
import type { ToolPlan } from '../catalog/tool.ts';
import { effectsOf } from '../tool-call/effects-of.ts';

export interface RulePlace {
  /** The real path of the workspace. */
  readonly root: string;
  /** `host:port` of the package registries that the operator knows. */
  readonly registryHosts: readonly string[];
  /** Likewise of the agents that there are profiles of. */
  readonly clientHosts: readonly string[];
}

/** The one thing that a rule can be about, from effects as they were shown and signed; undefined: there is no such rule. */
export function ruleEffectOf(effects: readonly Effect[], place: RulePlace): AskedEffect | undefined {
  const { root, registryHosts, clientHosts } = place;
  const hosts = effects.flatMap((effect) =>
    effect.kind === 'host' && effect.secret === null ? [`${effect.host}:${effect.port}`] : [],
  );
  const [effect, ...others] = effects;
  if (effect === undefined) return undefined;
  if (hosts.length === effects.length && hosts.every((host) => registryHosts.includes(host))) {
    return { kind: 'registries', hosts };
  }
  const asked = hosts.filter((each) => !clientHosts.includes(each));
  const [host = hosts[0]] = asked;
  // What a wrapped agent has anyway was not what the question was about.
  if (host !== undefined && others.length > 0 && hosts.length === effects.length && asked.length === 1) {
    return { kind: 'agent_host', host, clientHosts: hosts.filter((each) => each !== host) };
  }
  // Two rules do not add up within one call, so one for each of several would answer nothing.
  if (others.length > 0) return undefined;
  if (host !== undefined) return { kind: 'host', host };
  if (effect.kind === 'path') {
    const fact = effect.path.startsWith(`${root}/`) ? 'secret_file' : 'outside_path';
    return { kind: 'path', fact, path: effect.path, mode: effect.mode };
  }
  if (effect.kind !== 'upstream') return undefined;
  const { server, tool, definition } = effect;
  return { kind: 'upstream', server, tool, definitionSha256: definition };
}

/** The other way round: which questions a rule answers. */
export function effectsOfRule(effect: AskedEffect): readonly Effect[] {
  switch (effect.kind) {
    case 'host':
      return [hostEffect(effect.host)];
    case 'agent_host':
      return [effect.host, ...effect.clientHosts].map(hostEffect);
    case 'registries':
      return effect.hosts.map(hostEffect);
    case 'path':
      return [{ kind: 'path', path: effect.path, mode: effect.mode }];
    case 'upstream': {
      const { server, tool, definitionSha256 } = effect;
      type Definition = Extract<Effect, { kind: 'upstream' }>['definition'];
      return [{ kind: 'upstream', server, tool, definition: definitionSha256 as Definition }];
    }
  }
}

function hostEffect(hostAndPort: string): Effect {
  const at = hostAndPort.lastIndexOf(':');
  return { kind: 'host', host: hostAndPort.slice(0, at), port: Number(hostAndPort.slice(at + 1)), secret: null };
}

/**
 * Whether a rule for what the plan does would let just such a call pass.
 * SECURITY: T-02 — nobody is offered an answer for good that would leave the next call asking again.
 */
export function fitsRule(plan: ToolPlan, place: RulePlace): boolean {
  const effect = ruleEffectOf(effectsOf(plan), place);
  if (effect === undefined) return false;
  const { enforced, capabilities } = plan;
  const leaves = leavingsOf(enforced, capabilities);
  if (leaves.toSorted().join() !== leavingsOfRule(effect).join()) return false;
  if (!['A', 'C', 'built_in', 'client'].includes(enforced.tier)) return false;
  if (enforced.egress !== 'strict' && !(enforced.tier === 'client' && enforced.egress === 'preflight')) return false;
  if (effect.kind === 'agent_host') {
    // SECURITY: T-03 — just those that the profile gives: a host of another agent's profile was asked about, too.
    return enforced.tier === 'C' && effect.clientHosts.toSorted().join() === enforced.clientHosts.toSorted().join();
  }
  if (effect.kind !== 'path') return true;
  return (effect.mode === 'write' ? enforced.writeRoots : enforced.readRoots).includes(effect.path);
}

/** Sorted. */
function leavingsOfRule(effect: AskedEffect): readonly string[] {
  switch (effect.kind) {
    case 'host':
      return ['host'];
    case 'agent_host':
      return ['client_host', 'host'];
    case 'registries':
      return ['registry'];
    case 'path':
      return [effect.fact];
    case 'upstream':
      return ['upstream'];
  }
}
