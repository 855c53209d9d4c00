import type { ToolPlan } from '../catalog/tool.ts';
import type { PatchInput } from '../file-tools/worker/tool-shapes.ts';

/** A patch as it is written. */
export function showPatch({ patch, max_offset: most = 0 }: PatchInput, paths: readonly string[]): ToolPlan['shown'] {
  // SECURITY: T-08 — its lines say where the files change, and with it that is not where.
  const elsewhere =
    most === 0 ? '' : `Its hunks may be done up to ${most} lines away from where they say (max_offset).\n`;
  return { kind: 'diff', paths, diff: `${elsewhere}${patch}` };
}
