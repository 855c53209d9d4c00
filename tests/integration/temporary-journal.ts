import { join } from 'node:path';
import { createTemporaryHome, type JournalPlace } from '@palyra/testkit';

export interface TemporaryJournal extends JournalPlace, AsyncDisposable {
  readonly location: { readonly kind: 'sqlite'; readonly path: string };
}

/** A home with room for one journal on SQLite, gone at the end of the block that holds it. */
export async function temporaryJournal(): Promise<TemporaryJournal> {
  const home = await createTemporaryHome();
  return {
    directory: home.path,
    location: { kind: 'sqlite', path: join(home.path, 'palyra.db') },
    [Symbol.asyncDispose]: () => home[Symbol.asyncDispose](),
  };
}
