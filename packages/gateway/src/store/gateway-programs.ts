import { entryUrl } from '@palyra/primitives';
import type { ProgramModule } from '@palyra/storage';
import { KEEP_KEY_PROGRAM } from '../wasm-hosts/keep-key-program.ts';

/** For `openDatabase`: what the writer must know to keep the keys of WASM modules. */
export function gatewayPrograms(): readonly ProgramModule[] {
  return [{ name: KEEP_KEY_PROGRAM, module: entryUrl(import.meta.url, '../wasm-hosts/keep-key-program').href }];
}
