import { manySignatures } from './check-signatures.ts';
import { bytesOfHex } from './format/bytes.ts';
import { checkpointOf, type SegmentDeps } from './segments.ts';
import type { LogRow } from './store/journal-schema.ts';
import { verifyExport } from './verify/verify-export.ts';

/**
 * Why a text is no archive of this log up to an entry; undefined when it is one. SECURITY: T-31 — that is decided by what is on the
 * disk, not by what was meant to be.
 */
export async function whyUnsound(
  text: () => AsyncIterable<string>,
  next: number,
  { log, ...deps }: Pick<SegmentDeps, 'database'> & { readonly log: LogRow },
): Promise<string | undefined> {
  const { note } = await checkpointOf(deps, log, next);
  const rootKey = bytesOfHex(log.root_key);
  const pins = { ...(rootKey === undefined ? {} : { rootKey }), witnesses: [], checkpoints: [note] };
  const report = await verifyExport(text, { crypto: manySignatures(), pins });
  if (report.kind === 'broken') return `it does not verify. ${report.finding.why}`;
  return report.size === next ? undefined : 'it ends elsewhere';
}
