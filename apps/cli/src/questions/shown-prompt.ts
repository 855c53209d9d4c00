import type { JsonObject } from '@palyra/primitives';
import { CliError } from '../cli-error.ts';

export type Scope = 'once' | 'session' | 'timeboxed' | 'always';

/** As much of a prompt as is read here; all of it is in the digest that is signed. */
export interface ShownPrompt {
  readonly approval_id: string;
  readonly what: {
    readonly sentence: string;
    readonly risk: { readonly level: string; readonly reasons: readonly string[] };
    readonly action: { readonly kind: string; readonly text: string; readonly left_out: number };
    readonly cwd: string | null;
    readonly workspace: { readonly name: string; readonly path: string | null };
    readonly session: string;
    readonly hosts: readonly { readonly shown: string; readonly warnings: readonly string[] }[];
    readonly secrets: readonly string[];
    readonly tier: string;
    readonly bound: readonly { readonly name: string; readonly sha256: string | null }[];
    readonly not_bound: readonly string[];
    readonly subject: string;
    readonly left_out: number;
  };
  readonly policy: { readonly ids: readonly string[]; readonly reason: string };
  readonly needs: { readonly approvers: number; readonly assurance: string };
  readonly options: readonly {
    readonly scope: Scope;
    readonly covers: readonly string[];
    readonly pattern: string | null;
    readonly holds_ms: number;
  }[];
  readonly agent_says: { readonly text: string; readonly note: string } | null;
  readonly asked_at: number;
  readonly expires_at: number;
}

/** They differ in how the digest of the subject was made, which is nothing to look at. */
const FORMATS: readonly unknown[] = ['palyra.prompt/1', 'palyra.prompt/2'];

/** Throws `cli.not_understood`: what cannot be shown whole is not answered here. */
export function readPrompt(prompt: JsonObject): ShownPrompt {
  if (FORMATS.includes(prompt['format'])) return prompt as unknown as ShownPrompt;
  throw new CliError('cli.not_understood', 'The question is in a form that this version does not know.', {
    fix: 'Use a palyra that is as new as palyrad.',
  });
}
