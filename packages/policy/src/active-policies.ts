import type { Clock, Logger, Sha256Hex } from '@palyra/primitives';
import { autoApply } from './auto-apply.ts';
import type { CompiledDirectory } from './compile-directory.ts';
import { compileOffLoop, sourceDigestOffLoop } from './compile-off-loop.ts';
import { type CompiledPolicies, type LoadedPolicies, loadPolicies } from './compiled-policies.ts';
import type { PolicyEngine } from './decide.ts';
import { PolicyError } from './policy-error.ts';
import type { PolicySet, PresetName } from './policy-set.ts';
import type { PolicyEvaluationConfig } from './request.ts';
import type { WatchDirectory } from './watch-directory.ts';

/** The policies that decide right now. Always a set that passed every check: the last good one. */
export interface ActivePolicies extends PolicyEngine {
  current(): PolicySet;
  /** The same as data, for whoever wants to ask it something on another thread. */
  compiled(): CompiledPolicies;
  /**
   * Makes what is on disk the active set, at once for every decision that follows. Throws `PolicyError` with every
   * problem, and then nothing has changed.
   */
  apply(): Promise<PolicyChange>;
  /** Whether the files differ from what was last applied; what cannot be read does. */
  pending(): Promise<boolean>;
  /** Every decision after it is a refusal. */
  close(): Promise<void>;
}

/** One line of the journal: which policies decided from when on. */
export interface PolicyChange {
  readonly cause: PolicyChangeCause;
  readonly preset: PresetName;
  readonly digest: Sha256Hex;
  /** Absent for the first set. */
  readonly previousDigest?: Sha256Hex;
  readonly policies: number;
  readonly tests: number;
  readonly warnings: PolicySet['warnings'];
}

export type PolicyChangeCause = 'started' | 'applied' | 'auto_applied';

export interface ActivePoliciesDeps {
  /** Absolute: `$PALYRA_HOME/policies`. */
  readonly directory: string;
  readonly preset: PresetName;
  readonly config: PolicyEvaluationConfig;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Durable before the set decides anything; when it throws, the previous set stays. */
  recordChange(change: PolicyChange): Promise<void> | void;
  /** Told when the set decides, the first one not: what hangs on its answers can be looked at again. Must not throw. */
  changed?(change: PolicyChange): void;
  /** Present: edits are applied by themselves, as `policy.auto_apply` asks for. */
  readonly watch?: WatchDirectory;
}

/** Throws `PolicyError` when the set on disk cannot be used: without policies nothing starts. */
export async function createActivePolicies(deps: ActivePoliciesDeps): Promise<ActivePolicies> {
  const { directory, clock } = deps;
  let active = await activate(deps, { cause: 'started' });
  let isClosed = false;

  const swap = async (cause: PolicyChangeCause, expected?: Sha256Hex): Promise<PolicyChange> => {
    if (isClosed) throw closed();
    const next = await activate(deps, { cause, previous: active.compiled, expected });
    const retired = active;
    // SECURITY: T-09 — one assignment: no decision sees half of one set and half of another, nor none at all.
    active = next;
    retired.loaded.close();
    deps.changed?.(next.change);
    return next.change;
  };
  // One at a time, or the older of two edits could be the one that stays.
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = (cause: PolicyChangeCause, expected?: Sha256Hex): Promise<PolicyChange> => {
    const turn = last.then(() => swap(cause, expected));
    last = turn.catch(() => undefined);
    return turn;
  };
  const readDigest = () => sourceDigestOffLoop(directory, clock);
  const stopWatching = autoApply({
    ...deps,
    readDigest,
    appliedDigest: () => active.compiled.sourceDigest,
    apply: (digest) => inTurn('auto_applied', digest),
  });

  return {
    decide: (request) => active.engine.decide(request),
    current: () => active.compiled.set,
    compiled: () => compiledOf(active.compiled),
    apply: () => inTurn('applied'),
    async pending() {
      try {
        return (await readDigest()) !== active.compiled.sourceDigest;
      } catch (thrown) {
        if (thrown instanceof PolicyError) return true;
        throw thrown;
      }
    },
    async close() {
      isClosed = true;
      await stopWatching();
      await last;
      active.loaded.close();
    },
  };
}

interface Activated {
  readonly compiled: CompiledDirectory;
  readonly loaded: LoadedPolicies;
  readonly engine: PolicyEngine;
  readonly change: PolicyChange;
}

interface Activation {
  readonly cause: PolicyChangeCause;
  readonly previous?: CompiledDirectory;
  readonly expected?: Sha256Hex | undefined;
}

async function activate(deps: ActivePoliciesDeps, activation: Activation): Promise<Activated> {
  const { directory, preset, config, clock, recordChange } = deps;
  const { expected } = activation;
  const compiled = await compileOffLoop({ directory, preset }, clock);
  if (expected !== undefined && compiled.sourceDigest !== expected) throw changedMeanwhile();
  const loaded = await loadPolicies(compiled);
  try {
    const change = changeOf(compiled, activation);
    await recordChange(change);
    return { compiled, loaded, change, engine: loaded.engine(config) };
  } catch (thrown) {
    loaded.close();
    throw thrown;
  }
}

function compiledOf({ set, observed }: CompiledDirectory): CompiledPolicies {
  return observed === undefined ? { set } : { set, observed };
}

function changeOf({ set, tests }: CompiledDirectory, { cause, previous }: Activation): PolicyChange {
  const { preset, digest, policies, warnings } = set;
  const before = previous === undefined ? {} : { previousDigest: previous.set.digest };
  return { cause, preset, digest, ...before, policies: policies.length, tests, warnings };
}

function changedMeanwhile(): PolicyError {
  return new PolicyError('policy.unreadable', 'The policies changed while they were read.', {
    fix: 'They are looked at again when they rest.',
  });
}

function closed(): PolicyError {
  return new PolicyError('policy.evaluation_failed', 'The policies are not in use any more.');
}
