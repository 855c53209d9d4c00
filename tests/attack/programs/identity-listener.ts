import { openAuthority, openRegistry } from '@palyra/identity';
import { systemClock } from '@palyra/primitives';
import { listenIn, openIdentityDatabase } from '../identity-listener.ts';

/** Another palyrad on the same database: `identity-listener.ts {"location", "identity"}`. Prints its port; ends with its input. */
const { location, identity } = JSON.parse(process.argv[2] ?? '{}');
const database = await openIdentityDatabase(location);
const house = {
  authority: openAuthority(identity),
  registry: openRegistry({ database }),
  clock: Object.assign({ aheadMs: 0 }, systemClock),
};
const listener = await listenIn(house, { recheckMs: 3_600_000 });
process.stdout.write(`${listener.port}\n`);
process.stdin.resume();
process.stdin.once('end', () => {
  void listener[Symbol.asyncDispose]().then(() => database.close());
});
