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
  /**
   * The same for a change that the server made itself: what is on disk must have this digest, so that nothing comes along
   * that nobody applied. Throws as `apply` does, and `policy.unreadable` for other files.
   */
  applyRule(rule: RuleChange, expected: Sha256Hex): Promise<PolicyChange>;
  /** Of the files that the active set was made of. */
  appliedDigest(): Sha256Hex;
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
  /** With `always_here`. */
  readonly rule?: RuleChange;
}

export type PolicyChangeCause = 'started' | 'applied' | 'auto_applied' | 'always_here';

/** One rule that was remembered or forgotten, and by whom. */
export interface RuleChange {
  readonly id: string;
  readonly change: 'added' | 'removed';
  readonly by: string;
}

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
  /** What the directory holds, from `compileOffLoop`: for whoever has something else to do while it is compiled. */
  readonly first?: Promise<CompiledDirectory>;
  /** Present: edits are applied by themselves, as `policy.auto_apply` asks for. */
  readonly watch?: WatchDirectory;
}

/** Throws `PolicyError` when the set on disk cannot be used: without policies nothing starts. */
export async function createActivePolicies(deps: ActivePoliciesDeps): Promise<ActivePolicies> {
  const { directory, clock } = deps;
  const { first } = deps;
  let active = await activate(deps, { cause: 'started', ...(first === undefined ? {} : { compiling: first }) });
  let isClosed = false;

  const swap = async (wanted: WantedSet): Promise<PolicyChange> => {
    if (isClosed) throw closed();
    const next = await activate(deps, { ...wanted, previous: active.compiled });
    const retired = active;
    // SECURITY: T-09 — one assignment: no decision sees half of one set and half of another, nor none at all.
    active = next;
    retired.loaded.close();
    deps.changed?.(next.change);
    return next.change;
  };
  // One at a time, or the older of two edits could be the one that stays.
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = (wanted: WantedSet): Promise<PolicyChange> => {
    const turn = last.then(() => swap(wanted));
    last = turn.catch(() => undefined);
    return turn;
  };
  const readDigest = () => sourceDigestOffLoop(directory, clock);
  const stopWatching = autoApply({
    ...deps,
    readDigest,
    appliedDigest: () => active.compiled.sourceDigest,
    apply: (expected) => inTurn({ cause: 'auto_applied', expected }),
  });

  return {
    decide: (request) => active.engine.decide(request),
    current: () => active.compiled.set,
    compiled: () => compiledOf(active.compiled),
    apply: () => inTurn({ cause: 'applied' }),
    applyRule: (rule, expected) => inTurn({ cause: 'always_here', rule, expected }),
    appliedDigest: () => active.compiled.sourceDigest,
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

interface WantedSet {
  readonly cause: PolicyChangeCause;
  /** Of the files; any when absent. */
  readonly expected?: Sha256Hex;
  readonly rule?: RuleChange;
}

interface Activation extends WantedSet {
  readonly compiling?: Promise<CompiledDirectory>;
  readonly previous?: CompiledDirectory;
}

async function activate(deps: ActivePoliciesDeps, activation: Activation): Promise<Activated> {
  const { directory, preset, config, clock, recordChange } = deps;
  const { expected } = activation;
  const compiled = await (activation.compiling ?? compileOffLoop({ directory, preset }, clock));
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

function changeOf({ set, tests }: CompiledDirectory, { cause, previous, rule }: Activation): PolicyChange {
  const { preset, digest, policies, warnings } = set;
  const before = previous === undefined ? {} : { previousDigest: previous.set.digest };
  return {
    cause,
    preset,
    digest,
    ...before,
    policies: policies.length,
    tests,
    warnings,
    ...(rule === undefined ? {} : { rule }),
  };
}

function changedMeanwhile(): PolicyError {
  return new PolicyError('policy.unreadable', 'The policies changed while they were read.', {
    fix: 'They are looked at again when they rest.',
  });
}

function closed(): PolicyError {
  return new PolicyError('policy.evaluation_failed', 'The policies are not in use any more.');
}
