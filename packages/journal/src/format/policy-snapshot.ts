import { canonicalJson, type JsonValue } from '@palyra/primitives/browser';
import { JournalError } from '../journal-error.ts';
import { hexOf, utf8 } from './bytes.ts';
import {
  boolean,
  type Check,
  checkShape,
  choice,
  count,
  digest,
  list,
  matching,
  name,
  object,
  optional,
  record,
} from './check-shape.ts';
import type { Sha256 } from './crypto.ts';

/** Everything that decided what a call could do, at the moment of the call. Lists are sets: sorted, nothing twice. */
export interface ToolCallPolicySnapshot {
  readonly format: 'palyra.policy-snapshot/1';
  readonly policy_set_sha256: string;
  readonly preset: string;
  readonly allowed_tools: readonly string[];
  readonly max_calls_per_run: number;
  readonly execution_timeout_ms: number;
  readonly process_runner: ProcessRunnerSnapshot;
  readonly wasm_runtime: WasmRuntimeSnapshot;
  readonly skills: readonly SkillSnapshot[];
  readonly approvals?: ApprovalsSnapshot;
  readonly egress?: EgressSnapshot;
}

export interface ProcessRunnerSnapshot {
  readonly enabled: boolean;
  /** This and the next three are of a command whose call does not say; the intent has what it was. */
  readonly tier: 'B' | 'C';
  readonly egress_enforcement_mode: 'none' | 'preflight' | 'strict';
  readonly allowed_egress_hosts: readonly string[];
  /** `.example.org` stands for every host below example.org. */
  readonly allowed_egress_host_suffixes: readonly string[];
  /** By name and unit: `cpu_ms`, `memory_bytes`, `output_bytes`, `processes`, `open_files`, … */
  readonly limits: Readonly<Record<string, number>>;
}

export interface WasmRuntimeSnapshot {
  readonly enabled: boolean;
  readonly fuel_budget: number;
  readonly memory_bytes: number;
  readonly table_elements?: number;
  readonly instances?: number;
  readonly module_bytes?: number;
  readonly wall_ms?: number;
  readonly output_bytes?: number;
  readonly host_calls?: number;
  readonly host_functions: readonly string[];
}

export interface SkillSnapshot {
  readonly skill: string;
  readonly version: string;
  readonly artifact_sha256: string;
}

export interface ApprovalsSnapshot {
  /** What makes a call sensitive: `process_exec`, `network`, `secrets_read`, `filesystem_write`. */
  readonly sensitive_capabilities: readonly string[];
  readonly timeout_ms: number;
}

/** What the operator configured about connections, whichever call makes them. */
export interface EgressSnapshot {
  /** What becomes of a host that a call did not name, unless the call says. */
  readonly unlisted: 'ask' | 'deny';
  /** Networks and addresses that may be connected to although they are private. */
  readonly private_ranges: readonly string[];
  readonly registry_hosts: readonly string[];
  /** `name=address`: what the proxy does not look up. */
  readonly pinned_hosts: readonly string[];
  /** Of certificates that the proxy trusts beside the system's, a file each. */
  readonly authorities_sha256: readonly string[];
  /** Of each call, by name and unit: `connections`, `bytes_in`, … */
  readonly limits: Readonly<Record<string, number>>;
}

/** A host, its suffix or its address, with a port or without. */
const host = matching(/^[A-Za-z0-9.:[\]_*-]{1,255}$/, 'a host');

const range = matching(/^[0-9A-Fa-f.:[\]/]{1,64}$/, 'a network or an address');
const pin = matching(/^[a-z0-9._-]{1,255}=[0-9A-Fa-f.:]{1,64}$/, 'a name with its address');

const processRunner = object<ProcessRunnerSnapshot>({
  enabled: boolean,
  tier: choice('B', 'C'),
  egress_enforcement_mode: choice('none', 'preflight', 'strict'),
  allowed_egress_hosts: setOf(host),
  allowed_egress_host_suffixes: setOf(host),
  limits: record(count),
});

const wasmRuntime = object<WasmRuntimeSnapshot>({
  enabled: boolean,
  fuel_budget: count,
  memory_bytes: count,
  table_elements: optional(count),
  instances: optional(count),
  module_bytes: optional(count),
  wall_ms: optional(count),
  output_bytes: optional(count),
  host_calls: optional(count),
  host_functions: setOf(name),
});

const egress = object<EgressSnapshot>({
  unlisted: choice('ask', 'deny'),
  private_ranges: setOf(range),
  registry_hosts: setOf(host),
  pinned_hosts: setOf(pin),
  authorities_sha256: setOf(digest),
  limits: record(count),
});

const snapshotFields = object<ToolCallPolicySnapshot>({
  format: choice('palyra.policy-snapshot/1'),
  policy_set_sha256: digest,
  preset: name,
  allowed_tools: setOf(name),
  max_calls_per_run: count,
  execution_timeout_ms: count,
  process_runner: processRunner,
  wasm_runtime: wasmRuntime,
  skills: setOf(object<SkillSnapshot>({ skill: name, version: name, artifact_sha256: digest })),
  approvals: optional(object<ApprovalsSnapshot>({ sensitive_capabilities: setOf(name), timeout_ms: count })),
  egress: optional(egress),
});

/** Throws `journal.invalid_snapshot` unless the value has exactly the fields of a snapshot, its lists in order. */
export function parsePolicySnapshot(value: unknown): ToolCallPolicySnapshot {
  return checkShape(value, snapshotFields, (what) => invalid(`is malformed. ${what}`));
}

/**
 * The one spelling of a snapshot. Lists are sorted first, so that the same settings have the same digest in whatever
 * order they were collected. Throws `journal.invalid_snapshot`.
 */
export function policySnapshotText(snapshot: ToolCallPolicySnapshot): string {
  const written = canonical(sorted(snapshot));
  parsePolicySnapshot(JSON.parse(written));
  return written;
}

/** Hexadecimal SHA-256 of the text. No salt: a snapshot is the operator's own settings, and the same one is stored once. */
export function policySnapshotDigest(snapshot: ToolCallPolicySnapshot, sha256: Sha256): string {
  return hexOf(sha256(utf8(policySnapshotText(snapshot))));
}

/** A list in the order of its items' canonical spelling, nothing twice. */
function setOf<Type>(check: Check<Type>): Check<readonly Type[]> {
  const items = list(check);
  return (value, fault): value is readonly Type[] => {
    if (!items(value, fault)) return false;
    const keys = value.map((item) => canonicalJson(item as JsonValue));
    if (keys.every((key, index) => index === 0 || (keys[index - 1] as string) < key)) return true;
    fault.reason = 'is not sorted, or has an item twice';
    return false;
  };
}

/** All lists of a snapshot are sets, however deep. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return inOrder(value);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([field, content]) => [field, sorted(content)]));
}

function inOrder(items: readonly unknown[]): unknown[] {
  const bySpelling = new Map(items.map((item) => [canonical(item), item]));
  return [...bySpelling.keys()].toSorted(byUtf16).map((key) => bySpelling.get(key));
}

function byUtf16(left: string, right: string): number {
  return left < right ? -1 : 1;
}

function canonical(value: unknown): string {
  try {
    return canonicalJson(value as JsonValue);
  } catch (cause) {
    throw invalid('holds what JSON cannot say.', cause);
  }
}

function invalid(what: string, cause?: unknown): JournalError {
  return new JournalError('journal.invalid_snapshot', `A policy snapshot ${what}`, {
    fix: 'docs/reference/journal.md lists the fields of a snapshot.',
    ...(cause === undefined ? {} : { cause }),
  });
}
