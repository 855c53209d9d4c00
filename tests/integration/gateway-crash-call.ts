import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Journal } from '@palyra/journal';
import type { RunId } from '@palyra/primitives';
import { type GatewayHouse, openHouse } from './gateway-house.ts';
import { LEAVES_THE_BOX, testTool } from './gateway-tools-for-tests.ts';

/** One call on a home: the first time in a process that is killed at some point, the second time to see what it left. */
export interface CrashCall {
  readonly root: string;
  readonly flow: string;
  /** Of an earlier process, to go on with. */
  readonly run?: RunId;
  readonly around?: (journal: Journal) => Journal;
  /** Around the effect of the call. */
  readonly reach?: (point: 'before effect' | 'after effect') => void;
  /** Told of the run before anything is called. */
  readonly begun?: (run: RunId) => void;
}

export interface CrashCallEnd {
  readonly run: RunId;
  readonly end: string | undefined;
  /** Of the journal as it is on disk afterwards. */
  readonly verdict: string;
}

export async function makeCrashCall(call: CrashCall): Promise<CrashCallEnd> {
  const { root, flow, reach = () => undefined, around = (journal) => journal } = call;
  const tool = testTool({
    enforced: flow === 'asked' ? LEAVES_THE_BOX : {},
    async execute() {
      reach('before effect');
      appendFileSync(join(root, 'effects'), 'x');
      reach('after effect');
      return {};
    },
  });
  const house = await openHouse({ tools: [tool], root, around });
  const run =
    call.run === undefined
      ? await house.gateway.startRun(house.agent, { workspace: house.workspace })
      : await house.gateway.resumeRun(house.agent, call.run);
  if (call.run !== undefined) await house.gateway.settleInterrupted();
  call.begun?.(run.id);
  const running = run.call({ tool: 'test.echo', input: '{"text":"a"}', key: 'k' });
  running.catch(() => undefined);
  if (flow === 'asked') await approveUntilOver(house, running);
  const end = await running.then(
    ({ outcome }) => outcome.code ?? outcome.kind,
    (error: { code?: string }) => error.code,
  );
  const verdict = await house.verdict();
  await house.close();
  return { run: run.id, end, verdict };
}

async function approveUntilOver({ approvals, ada }: GatewayHouse, running: Promise<unknown>): Promise<void> {
  let isOver = false;
  const over = running
    .catch(() => undefined)
    .then(() => {
      isOver = true;
    });
  while (!isOver) {
    const [card] = await approvals.pending({ limit: 1 });
    if (card === undefined) await Promise.race([over, new Promise((resolve) => setTimeout(resolve, 10))]);
    else await approvals.decide(card.approvalId, { decision: 'approve', scope: 'once', shown: card.shown, by: ada });
  }
}
