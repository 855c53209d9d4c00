import type { ProgramRun } from '@palyra/storage';
import type { Kysely } from 'kysely';
import type { KeyRole } from '../format/key-statement.ts';
import { statementsFor } from './statements.ts';

export interface KeyInUse {
  /** The number of the log. */
  readonly log: number;
  readonly role: KeyRole;
  /** Hexadecimal. */
  readonly publicKey: string;
}

/**
 * Whether the log says that this key may sign now. Asked again whenever another process may have rotated it: what a
 * retired key signs would be in the log for good, and never verify.
 */
export function* isCertified({ log, role, publicKey }: KeyInUse, build: Kysely<never>): ProgramRun<boolean> {
  const { rows } = yield { kind: 'statement', sql: statementsFor(build).selectKey, parameters: [log, role, publicKey] };
  return rows.some(({ change }) => change === 'activated') && rows.every(({ change }) => change !== 'retired');
}
