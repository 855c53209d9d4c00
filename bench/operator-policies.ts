/**
 * Policies as operators write them: six of ten for one tool or one group, four of ten for a fact of the call, none of
 * which the benchmark's request meets, as most of a large set never meets a given request.
 */
export function operatorPolicies(count: number): string {
  return Array.from({ length: count }, (_, i) => {
    const shape = SHAPES[i % SHAPES.length];
    return shape?.(i) ?? '';
  }).join('\n');
}

/** No scope and no condition that tells at a glance whether a policy matters: each has to be evaluated. */
export function unscopedPolicies(count: number): string {
  return Array.from({ length: count }, (_, i) => {
    const condition = `context.declared.command_line like "*deploy-${i} *"`;
    return policy(i, 'forbid', `principal, ${EXECUTE}, resource`, condition);
  }).join('\n');
}

const EXECUTE = 'action in Palyra::Action::"execute"';

const SHAPES: readonly ((i: number) => string)[] = [
  (i) =>
    policy(i, 'permit', `principal, ${EXECUTE}, resource == Palyra::Tool::"mcp.server-${i}.read"`, 'context.approved'),
  (i) => policy(i, 'forbid', `principal in Palyra::Group::"team-${i}", ${EXECUTE}, resource`, '!context.approved'),
  (i) =>
    policy(i, 'forbid', `principal, ${EXECUTE}, resource`, `context.enforced.hosts.contains("h${i}.example.com:443")`),
  (i) =>
    policy(
      i,
      'permit',
      `principal, ${EXECUTE}, resource == Palyra::Tool::"mcp.server-${i}.write"`,
      'context.coverage == "wrapped"',
    ),
  (i) =>
    policy(
      i,
      'permit',
      `principal, ${EXECUTE}, resource`,
      `context has workspace && context.workspace == Palyra::Workspace::"w-${i}" && context.enforced.leaves == ["host"]`,
    ),
  (i) =>
    policy(
      i,
      'forbid',
      `principal == Palyra::Agent::"agent-${i}", ${EXECUTE}, resource`,
      'context.enforced.tier == "B"',
    ),
  (i) =>
    policy(
      i,
      'forbid',
      `principal, ${EXECUTE}, resource`,
      `context.enforced.secrets.contains("key-${i}") && !context.approved`,
    ),
  (i) =>
    policy(
      i,
      'permit',
      `principal in Palyra::Group::"squad-${i}", ${EXECUTE}, resource`,
      'context.enforced.leaves.isEmpty()',
    ),
  (i) => policy(i, 'forbid', `principal, ${EXECUTE}, resource`, `context.tool_name == "mcp.server-${i}.delete"`),
  (i) =>
    policy(
      i,
      'forbid',
      `principal, ${EXECUTE}, resource == Palyra::Tool::"mcp.server-${i}.admin"`,
      'context.taints.contains("web")',
    ),
];

function policy(i: number, effect: 'permit' | 'forbid', scope: string, condition: string): string {
  return `@id("op-${i}")\n${effect} (${scope})\nwhen { ${condition} };`;
}
