import { entryUrl } from '@palyra/primitives';
import type { ProgramModule } from '@palyra/storage';
import { ASK_PROGRAM } from './store/ask-program.ts';

/** For `openDatabase`: what the writer must know to open cards. */
export function approvalPrograms(): readonly ProgramModule[] {
  return [{ name: ASK_PROGRAM, module: entryUrl(import.meta.url, './store/ask-program').href }];
}
