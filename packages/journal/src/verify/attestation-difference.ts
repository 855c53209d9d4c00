import type { ToolAttestation } from '../format/attestation.ts';
import { bytesOfHex, equalBytes } from '../format/bytes.ts';
import { commitmentOf } from '../format/commitment.ts';
import type { Sha256 } from '../format/crypto.ts';
import type { EntryData } from '../format/entry-kinds.ts';
import { executionRecordOf } from '../format/execution-record.ts';

const SAME = ['run_id', 'session_id', 'call_id', 'principal', 'tool', 'attestation_id'] as const;

/** SECURITY: T-31 — an attestation in another entry, or another log, than its own would vouch for another call. */
export function differenceFromEntry(
  attestation: ToolAttestation,
  { origin, data }: { readonly origin: string; readonly data: EntryData<'attestation'> },
): string | undefined {
  const field = SAME.find((name) => attestation[name] !== data[name]);
  if (field !== undefined) return field;
  if (attestation.origin !== origin) return 'origin';
  const { anchor } = attestation;
  if (anchor.seq !== data.anchor_seq || anchor.hash !== data.anchor) return 'anchor';
  return attestation.execution_sha256 === data.execution ? undefined : 'execution_sha256';
}

/** Whether the digest of the execution is the one that follows from the rest of the attestation. */
export function hasOwnExecution(attestation: ToolAttestation, salt: Uint8Array, sha256: Sha256): boolean {
  const expected = commitmentOf(salt, executionRecordOf(attestation), sha256);
  return equalBytes(expected, bytesOfHex(attestation.execution_sha256) ?? new Uint8Array());
}
