import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Newcomer } from './e2e/palyra-process.ts';

const AGENT = fileURLToPath(new URL('./scripted-agent.mjs', import.meta.url));

/** What the stand-in did at one step of its script, and what came of it. */
export interface Told {
  readonly code?: number;
  readonly stdout?: string;
  readonly stderr?: string;
  readonly refused?: string;
  readonly command?: string;
  readonly text?: string | null;
}

export type Step =
  | { readonly say: string }
  | { readonly own: string }
  | { readonly read: string }
  | { readonly mcp: { readonly command: readonly string[]; readonly call: object } }
  | { readonly tool: string; readonly input: Record<string, unknown> };

/** Puts the stand-in and its script into the workspace; the words that start it. */
export function layScript({ workspace }: Newcomer, steps: readonly Step[]): readonly string[] {
  copyFileSync(AGENT, join(workspace, 'agent.mjs'));
  writeFileSync(join(workspace, 'script.json'), JSON.stringify(steps));
  return ['node', 'agent.mjs', 'script.json', 'told.json'];
}

/** In the order of the script, without what was only said. */
export function toldBy({ workspace }: Newcomer): readonly Told[] {
  const file = join(workspace, 'told.json');
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as readonly Told[]) : [];
}
