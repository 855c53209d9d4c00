import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { canonicalJson, type JsonValue, parseJson } from '@palyra/primitives';
import { makePrivateDirectory, writeDurably } from '../tools/durable-file.ts';
import { absent } from '../tools/kept-blobs.ts';
import type { RuleTexts } from './rule-files.ts';

/** What is about to happen to the rules, written down first, so that the next start knows what a crash left. */
export interface RuleNote {
  readonly at: number;
  /** The answer that asks for it; absent when it was not a question. */
  readonly approvalId?: string;
  /** Present from the moment that files are written. */
  readonly files?: {
    readonly id: string;
    readonly workspace: string;
    readonly shown: string;
    readonly before: RuleTexts;
    readonly after: RuleTexts;
  };
}

export interface RuleNotes {
  read(): RuleNote | undefined;
  write(note: RuleNote): Promise<void>;
  remove(): Promise<void>;
}

/** Hidden: readers of policies pass it over. */
const NAME = '.always-pending.json';

export function createRuleNotes(directory: string): RuleNotes {
  const path = join(directory, NAME);
  return {
    read() {
      try {
        return parseJson(readFileSync(path), { maxLength: 64 * 1024 * 1024 }) as unknown as RuleNote;
      } catch (error) {
        return absent(error);
      }
    },
    async write(note) {
      await makePrivateDirectory(directory);
      await writeDurably(path, Buffer.from(canonicalJson(note as unknown as JsonValue)));
    },
    remove: () => rm(path, { force: true }),
  };
}
