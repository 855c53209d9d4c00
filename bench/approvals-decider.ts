import { createFakeCredentials, decideAsShown, openApprovalsHome } from '@palyra/testkit';

/** A process of its own that says yes to whatever id it is sent, and answers with the time at which that was durable. */
const [location = ''] = process.argv.slice(2);
const credentials = createFakeCredentials();
const ada = credentials.issue('ada laptop', { person: 'ada' });
const { approvals } = await openApprovalsHome(JSON.parse(location), { credentials });

process.on('message', (id) => void decide(id as Parameters<typeof approvals.decide>[0]));
process.on('disconnect', () => process.exit(0));
process.send?.('ready');

async function decide(id: Parameters<typeof approvals.decide>[0]): Promise<void> {
  const outcome = await decideAsShown(approvals, id, { decision: 'approve', scope: 'once', by: ada });
  process.send?.(outcome.kind === 'decided' ? performance.timeOrigin + performance.now() : outcome.kind);
}
