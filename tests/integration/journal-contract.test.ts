import { createTemporaryHome, describeJournalContract, sharedPostgres } from '@palyra/testkit';
import { temporaryJournal } from './temporary-journal.ts';

describeJournalContract('sqlite', async () => {
  const place = await temporaryJournal();
  return { ...place, remove: async () => place[Symbol.asyncDispose]() };
});

describeJournalContract('postgres', async () => {
  const home = await createTemporaryHome();
  const { url, giveBack } = await sharedPostgres().createDatabase();
  return {
    location: { kind: 'postgres', url, poolSize: 8 },
    directory: home.path,
    async remove() {
      await giveBack();
      await home[Symbol.asyncDispose]();
    },
  };
});
