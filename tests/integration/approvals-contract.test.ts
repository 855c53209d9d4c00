import { join } from 'node:path';
import { createTemporaryHome, describeApprovalsContract, sharedPostgres } from '@palyra/testkit';

describeApprovalsContract('sqlite', async () => {
  const home = await createTemporaryHome();
  return {
    location: { kind: 'sqlite', path: join(home.path, 'palyra.db') },
    remove: async () => home[Symbol.asyncDispose](),
  };
});

describeApprovalsContract('postgres', async () => {
  const { url, giveBack } = await sharedPostgres().createDatabase();
  return { location: { kind: 'postgres', url, poolSize: 8 }, remove: giveBack };
});
