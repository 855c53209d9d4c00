import { join } from 'node:path';
import { createTemporaryHome } from '@palyra/testkit';

export interface TemporaryLedger extends AsyncDisposable {
  readonly directory: string;
  readonly location: { readonly kind: 'sqlite'; readonly path: string };
}

/** A directory with room for one SQLite ledger, gone at the end of the block that holds it. */
export async function temporaryLedger(): Promise<TemporaryLedger> {
  const home = await createTemporaryHome();
  return {
    directory: home.path,
    location: { kind: 'sqlite', path: join(home.path, 'ledger.db') },
    [Symbol.asyncDispose]: () => home[Symbol.asyncDispose](),
  };
}
