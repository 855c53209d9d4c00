import type { Sha256Hex } from '@palyra/primitives';
import type { Obligations } from './obligations.ts';

/** Where a policy comes from, which decides what it may be about and where a person changes it. */
export type PolicyOrigin =
  | { readonly kind: 'palyra' }
  | { readonly kind: 'operator' }
  | { readonly kind: 'workspace'; readonly workspace: string };

export interface PolicyFile {
  /** As it is shown: below `$PALYRA_HOME`, or `palyra:coding.cedar` for our own. */
  readonly name: string;
  readonly text: string;
  readonly origin: PolicyOrigin;
}

/** One policy, checked and ready to be evaluated. */
export interface PolicyRecord {
  readonly id: string;
  readonly text: string;
  readonly effect: 'permit' | 'forbid';
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly reason: string | undefined;
  readonly fix: string | undefined;
  readonly obligations: Obligations;
  readonly origin: PolicyOrigin;
}

export type PresetName = 'coding' | 'locked' | 'observe';

/** Policies that passed every check together. Same policies, same digest, whatever the order of the files. */
export interface PolicySet {
  readonly preset: PresetName;
  readonly policies: readonly PolicyRecord[];
  readonly digest: Sha256Hex;
  /** What an operator should look at, and which does not keep the set from being used. */
  readonly warnings: readonly PolicyWarning[];
}

export interface PolicyWarning {
  readonly policyId: string;
  readonly message: string;
}
