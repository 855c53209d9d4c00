import type { Job } from './launcher/start-launcher.ts';

/** Output that may be on its way before it was consumed. */
export const OUTPUT_WINDOW: number = 256 * 1024;

/** Until so much is owed there is plenty left, and every word about it would wake the launcher. */
const SAID_TOGETHER = OUTPUT_WINDOW / 4;

/** What was consumed makes room for as much again. */
export function createOutputCredit(job: () => Pick<Job, 'allow'> | undefined): (bytes: number) => void {
  let owed = 0;
  return (bytes) => {
    owed += bytes;
    if (owed < SAID_TOGETHER) return;
    job()?.allow(owed);
    owed = 0;
  };
}
