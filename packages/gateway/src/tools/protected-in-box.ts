import type { ToolRefusal } from '../catalog/tool.ts';

/**
 * SECURITY: T-02, T-15 — while an agent's box is in a workspace, nobody can tell who wrote a protected file there, so all of
 * them are as they were when it ends. A yes to such a change would be one to what is put back.
 */
export function protectedInBox(): ToolRefusal {
  return {
    kind: 'refused',
    code: 'gateway.protected_in_box',
    message: 'The file runs code later, outside the box, and stays as it is while an agent is wrapped here.',
    fix: 'Make the change yourself, or have the agent leave it as a patch and apply that when its session is over.',
  };
}
