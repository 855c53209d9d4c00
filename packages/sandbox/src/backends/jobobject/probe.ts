import { type LayerReport, missing, type TierReport } from '../../probe/host-report.ts';
import { JOB_OBJECT_EXECUTOR, WSL_FIX } from './plan.ts';

/** In the order of the report. */
export const JOB_OBJECT_LAYERS: readonly string[] = [
  'launcher',
  'private_files',
  'network',
  'memory',
  'processes',
  'cpu',
  'tree_kill',
];

/** No wall is there, and the limits cannot be looked at: nothing of ours makes a job object yet. */
export function probeJobObject(): TierReport {
  const reason = 'There is no launcher for Windows, and job objects would only limit.';
  return {
    tier: 'C',
    executor: JOB_OBJECT_EXECUTOR,
    state: 'unavailable',
    reason,
    fix: WSL_FIX,
    layers: JOB_OBJECT_LAYERS.map(layerReport),
  };
}

function layerReport(layer: string): LayerReport {
  if (layer === 'launcher') return missing(layer, 'There is no launcher for Windows.', WSL_FIX);
  if (layer === 'private_files') return missing(layer, 'A job object hides no files.', WSL_FIX);
  if (layer === 'network') return missing(layer, 'A job object restricts no network.', WSL_FIX);
  return missing(layer, 'Planned, and never measured: nothing starts here.', WSL_FIX);
}
