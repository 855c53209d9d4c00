import { entryUrl } from '@palyra/primitives';
import type { ProgramModule } from '@palyra/storage';
import { openJournalKeys } from './keys/journal-keys.ts';
import { JOURNAL_PROGRAM } from './store/journal-program.ts';
import type { JournalSettings } from './store/seal-logs.ts';

/** For `openDatabase`: what the writer must know to append. `keyDirectory` is the identity directory of the home. */
export function journalPrograms(keyDirectory: string): readonly ProgramModule[] {
  const keys = openJournalKeys(keyDirectory);
  const settings: JournalSettings = {
    checkpointKeyFile: keys.fileOf('checkpoint'),
    attestationKeyFile: keys.fileOf('attestation'),
  };
  return [{ name: JOURNAL_PROGRAM, module: entryUrl(import.meta.url, './store/journal-program').href, settings }];
}
