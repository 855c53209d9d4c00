import type { DatabaseOptions } from '@palyra/storage';
import { describe } from 'vitest';
import { describeAsking } from './describe-asking.ts';
import { describeAskingAgain } from './describe-asking-again.ts';
import { describeDeciding } from './describe-deciding.ts';
import { describeGrants } from './describe-grants.ts';
import { describeRedeciding } from './describe-redeciding.ts';
import { describeReleasing } from './describe-releasing.ts';
import { describeRunning } from './describe-running.ts';
import { describeWaiting } from './describe-waiting.ts';

/** A fresh place for one test's approvals. */
export interface ApprovalsPlace {
  readonly location: DatabaseOptions['location'];
  remove(): Promise<void>;
}

export type MakeApprovalsPlace = () => Promise<ApprovalsPlace>;

/** What approvals owe, whatever database lies behind them. */
export function describeApprovalsContract(name: string, makePlace: MakeApprovalsPlace): void {
  describe(`approvals contract: ${name}`, () => {
    describeAsking(makePlace);
    describeAskingAgain(makePlace);
    describeDeciding(makePlace);
    describeRunning(makePlace);
    describeWaiting(makePlace);
    describeGrants(makePlace);
    describeReleasing(makePlace);
    describeRedeciding(makePlace);
  });
}
