import { openAuthority, openRegistry, type Registry } from '@palyra/identity';
import { systemClock } from '@palyra/primitives';
import { listenIn, openIdentityDatabase } from '../tests/attack/identity-listener.ts';

/**
 * A process of its own on the database of others. `node` listens as palyrad does, and says where; `deaf` does the same, and
 * hears no notice; `revoker` revokes each device it is sent, and answers with the time at which that was durable.
 */
const [role, place = '{}'] = process.argv.slice(2);
const { location, identity } = JSON.parse(place);
const registry = openRegistry({ database: await openIdentityDatabase(location) });

process.on('disconnect', () => process.exit(0));
if (role === 'revoker') {
  process.on('message', (device) => void revoke(device as Parameters<Registry['find']>[0]));
  process.send?.('ready');
} else {
  const deaf = { ...registry, watch: async () => ({ close: () => undefined }) };
  const house = { authority: openAuthority(identity), registry: role === 'deaf' ? deaf : registry, clock: systemClock };
  process.send?.((await listenIn(house)).port);
}

async function revoke(device: Parameters<Registry['find']>[0]): Promise<void> {
  await registry.revoke({ device, reason: 'lost', by: 'user:ada' });
  process.send?.(performance.timeOrigin + performance.now());
}
