import { GLOBAL_EXPORT_PREFIX, MEMORY_EXPORT, RESTORABLE_EXPORT, TABLE_EXPORT_PREFIX } from './host/meter-names.ts';
import type { MeterPlan } from './meter-plan.ts';
import type { ModuleShape } from './module-shape.ts';

export interface Exported {
  readonly name: string;
  /** As the binary format numbers them: function 0, table 1, memory 2, global 3. */
  readonly kind: number;
  readonly index: number;
}

const TABLE_KIND = 1;
const MEMORY_KIND = 2;
const GLOBAL_KIND = 3;

/**
 * Everything that a call can change, so that a host can put an instance back as it was. A module with state that no host can
 * reach is not restorable, and says so by not exporting that it is: whoever runs it makes a new instance for each call.
 * SECURITY: T-27 — what is forgotten here is what one call leaves behind for the next.
 */
export function exportedState(shape: ModuleShape, plan: MeterPlan): readonly Exported[] {
  const { resizables, settableGlobals, hasHiddenState, globals } = shape;
  const memory = resizables.some(({ kind }) => kind === 'memory')
    ? [{ name: MEMORY_EXPORT, kind: MEMORY_KIND, index: 0 }]
    : [];
  if (hasHiddenState || plan.dropsSegments || resizables.some(({ imported }) => imported)) return memory;
  const tables = plan.changesTables ? resizables.filter(({ kind }) => kind === 'table') : [];
  return [
    ...memory,
    { name: RESTORABLE_EXPORT, kind: GLOBAL_KIND, index: globals + 2 },
    ...settableGlobals.map((index) => ({ name: `${GLOBAL_EXPORT_PREFIX}${index}`, kind: GLOBAL_KIND, index })),
    ...tables.map((_, index) => ({ name: `${TABLE_EXPORT_PREFIX}${index}`, kind: TABLE_KIND, index })),
  ];
}
