import type { Journal } from '@palyra/journal';
import { makeCrashCall } from './gateway-crash-call.ts';

/** One call that ends with its process at the point that is named. Started by gateway-crash.test.ts. */
const [root = '', point = '', flow = ''] = process.argv.slice(2);

const dieAt = (reached: string): void => {
  if (point === reached) process.kill(process.pid, 'SIGKILL');
};

function dyingAround(journal: Journal): Journal {
  let appends = 0;
  return {
    ...journal,
    async append(...args) {
      const [, drafts] = args;
      appends += 1;
      const what = drafts.some(({ kind }) => kind === 'intent') ? 'intent' : `append-${appends}`;
      dieAt(`before ${what}`);
      const appended = await journal.append(...args);
      dieAt(`after ${what}`);
      return appended;
    },
    async attest(...args) {
      dieAt('before attest');
      const attested = await journal.attest(...args);
      dieAt('after attest');
      return attested;
    },
  };
}

await makeCrashCall({
  root,
  flow,
  around: dyingAround,
  reach: dieAt,
  begun: (run) => process.stdout.write(`${run}\n`),
});
