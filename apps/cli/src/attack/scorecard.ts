import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { HomeLayout } from '@palyra/config';
import { canonicalJson, type JsonValue } from '@palyra/primitives';
import { openSigner } from '../questions/answer-question.ts';
import type { AttackRow } from './attack-row.ts';

/** What was signed stands in it as it was signed: whoever has the operator's certificate can check it. */
export interface SignedScorecard {
  readonly format: 'palyra.scorecard/1';
  /** Canonical JSON. */
  readonly payload: string;
  readonly device: string;
  readonly signature: string;
}

export interface ScorecardFacts {
  readonly version: string;
  readonly at: string;
  readonly rows: readonly AttackRow[];
}

/** Of what was signed: a signature for this is none for anything else. */
const PURPOSE = 'palyra.scorecard/1\n';

/** Signed with the operator's key, into `scorecards/` of the home. Returns the file. */
export async function writeScorecard(home: HomeLayout, facts: ScorecardFacts): Promise<string> {
  const { device, sign } = await openSigner(home);
  const payload = canonicalJson(facts as unknown as JsonValue);
  const signature = Buffer.from(await sign(Buffer.from(`${PURPOSE}${payload}`))).toString('base64');
  const card: SignedScorecard = { format: 'palyra.scorecard/1', payload, device, signature };
  const directory = join(home.root, 'scorecards');
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const file = join(directory, `${facts.at.replaceAll(/[:.]/g, '-')}.json`);
  await writeFile(file, `${JSON.stringify(card, null, 2)}\n`, { flag: 'wx', mode: 0o600 });
  return file;
}
