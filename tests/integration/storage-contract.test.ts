import { describeStorageContract, sharedPostgres } from '@palyra/testkit';
import { temporaryLedger } from './temporary-ledger.ts';

describeStorageContract('sqlite', async () => {
  const place = await temporaryLedger();
  return { location: place.location, remove: async () => place[Symbol.asyncDispose]() };
});

describeStorageContract('postgres', async () => {
  const { url, drop, giveBack } = await sharedPostgres().createDatabase();
  return { location: { kind: 'postgres', url, poolSize: 8 }, remove: drop, giveBack };
});
