import type { Effect } from '@palyra/approvals';
import type { ToolPlan } from '../catalog/tool.ts';

/**
 * All that leaves the box, each by itself.
 * SECURITY: T-03 — derived from what the plan enforces and not by each tool: what one of them forgot, a grant for the
 * rest would let pass.
 */
export function effectsOf({ enforced, shown, cwd }: ToolPlan): readonly Effect[] {
  const secrets = enforced.secrets.length === 0 ? [null] : enforced.secrets;
  const isWritten = (path: string) => enforced.writeRoots.includes(path);
  const effects: Effect[] = [
    ...enforced.hosts.flatMap((host) => secrets.map((secret) => hostEffect(host, secret))),
    ...enforced.outsidePaths.map((path): Effect => ({ kind: 'path', path, mode: isWritten(path) ? 'write' : 'read' })),
    ...enforced.secretFiles.map((path): Effect => ({ kind: 'path', path, mode: isWritten(path) ? 'write' : 'read' })),
    ...enforced.protectedPaths.map((path): Effect => ({ kind: 'once', what: `changing the protected file ${path}` })),
  ];
  const { upstream } = enforced;
  if (upstream !== undefined && shown.kind === 'call') {
    effects.push({
      kind: 'upstream',
      server: upstream.server,
      tool: shown.name,
      definition: upstream.definitionSha256 as Extract<Effect, { kind: 'upstream' }>['definition'],
    });
  }
  if (enforced.hosts.length === 0 && enforced.secrets.length > 0) {
    effects.push({ kind: 'once', what: `using the secrets ${enforced.secrets.join(', ')} without a host` });
  }
  if (enforced.tier === 'B' || enforced.tier === 'none') effects.push(outsideTheBox(shown, cwd));
  if (enforced.egress === 'none' && enforced.tier !== 'built_in') {
    effects.push({ kind: 'once', what: 'connections to anywhere' });
  }
  return effects;
}

function outsideTheBox(shown: ToolPlan['shown'], cwd: string | null): Effect {
  if (shown.kind === 'command' && cwd !== null) return { kind: 'argv', argv: shown.argv, cwd };
  return { kind: 'once', what: 'running outside the box' };
}

function hostEffect(hostAndPort: string, secret: string | null): Effect {
  const at = hostAndPort.lastIndexOf(':');
  return { kind: 'host', host: hostAndPort.slice(0, at), port: Number(hostAndPort.slice(at + 1)), secret };
}
