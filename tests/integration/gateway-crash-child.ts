import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Journal } from '@palyra/journal';
import { openHouse } from './gateway-house.ts';
import { LEAVES_THE_BOX, testTool } from './gateway-tools-for-tests.ts';

/** One call that ends with its process at the point that is named. Started by gateway-crash.test.ts. */
const [root = '', point = '', flow = '', run = ''] = process.argv.slice(2);

const die = () => process.kill(process.pid, 'SIGKILL');

function dyingAround(journal: Journal): Journal {
  let appends = 0;
  return {
    ...journal,
    async append(...args) {
      const [, drafts] = args;
      appends += 1;
      const what = drafts.some(({ kind }) => kind === 'intent') ? 'intent' : `append-${appends}`;
      if (point === `before ${what}`) die();
      const appended = await journal.append(...args);
      if (point === `after ${what}`) die();
      return appended;
    },
    async attest(...args) {
      if (point === 'before attest') die();
      const attested = await journal.attest(...args);
      if (point === 'after attest') die();
      return attested;
    },
  };
}

const tool = testTool({
  enforced: flow === 'asked' ? LEAVES_THE_BOX : {},
  async execute() {
    if (point === 'before effect') die();
    appendFileSync(join(root, 'effects'), 'x');
    if (point === 'after effect') die();
    return {};
  },
});
const house = await openHouse({ tools: [tool], root, around: run === '' ? dyingAround : (journal) => journal });
const made =
  run === ''
    ? await house.gateway.startRun(house.agent, { workspace: house.workspace })
    : await house.gateway.resumeRun(house.agent, run as never);
if (run !== '') await house.gateway.settleInterrupted();
process.stdout.write(`${made.id}\n`);
const running = made.call({ tool: 'test.echo', input: '{"text":"a"}', key: 'k' });
running.catch(() => undefined);
if (flow === 'asked') {
  let isOver = false;
  const over = running
    .catch(() => undefined)
    .then(() => {
      isOver = true;
    });
  while (!isOver) {
    const [card] = await house.approvals.pending({ limit: 1 });
    if (card === undefined) await Promise.race([over, new Promise((resolve) => setTimeout(resolve, 10))]);
    else
      await house.approvals.decide(card.approvalId, {
        decision: 'approve',
        scope: 'once',
        shown: card.shown,
        by: house.ada,
      });
  }
}
const end = await running.then(
  ({ outcome }) => outcome.code ?? outcome.kind,
  (error: { code?: string }) => error.code,
);
process.stdout.write(`${end}\n${await house.verdict()}\n`);
await house.close();
