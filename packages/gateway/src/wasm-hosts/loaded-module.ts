import type { Sha256Hex } from '@palyra/primitives';
import type { WasmGrants, WasmLimits } from '@palyra/wasm';

/** A module that the operator put there, with what it may reach. */
export interface LoadedModule {
  readonly kind: 'loaded';
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly sha256: Sha256Hex;
  /** Of what the operator signed off, as it is written. */
  readonly manifestSha256: Sha256Hex;
  readonly grants: WasmGrants;
  readonly limits: Partial<WasmLimits>;
}
