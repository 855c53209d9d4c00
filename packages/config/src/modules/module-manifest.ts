import { visibleText } from '@palyra/primitives';
import { z } from 'zod';
import { ConfigError } from '../config-error.ts';

/** What the operator signed off for one WebAssembly module: which bytes, what they may reach, and how much. */
export interface ModuleManifest {
  readonly format: typeof MANIFEST_FORMAT;
  /** Of `module.wasm` beside it: other bytes are refused. */
  readonly sha256: string;
  readonly description: string;
  readonly grants: {
    readonly now: boolean;
    readonly random: boolean;
    readonly kv: boolean;
    readonly emit: boolean;
    /** `host:port`. */
    readonly http: readonly string[];
    readonly secrets: readonly string[];
    readonly environment: Readonly<Record<string, string>>;
    /** Where the guest finds what is in `files` beside it, to read. Empty: nowhere. */
    readonly files: string;
    /** Directories that it may write, in memory, gone when the call ends. */
    readonly scratch: readonly string[];
  };
  /** Only below what `[wasm_runtime]` says; what is not said is that. */
  readonly limits: Readonly<Partial<Record<ModuleLimitName, number>>>;
}

export const MANIFEST_FORMAT = 'palyra.module/1';
export const MODULE_LIMITS = ['fuel', 'memory_bytes', 'wall_ms', 'output_bytes', 'host_calls'] as const;
export type ModuleLimitName = (typeof MODULE_LIMITS)[number];

/** As the journal writes names. */
const names = z.array(z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/)).max(64);
/** What a host is, is for the grammar of egress to say, when the module is called. */
const hosts = z.array(z.string().regex(/^[a-z0-9*.:[\],/_-]{1,300}$/)).max(256);
const place = z.string().regex(/^\/(?:[A-Za-z0-9_-][A-Za-z0-9_.-]*(?:\/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*)?$/);

const manifestSchema: z.ZodType<ModuleManifest> = z.strictObject({
  format: z.literal(MANIFEST_FORMAT),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  description: z.string().max(500).default(''),
  grants: z
    .strictObject({
      now: z.boolean().default(false),
      random: z.boolean().default(false),
      kv: z.boolean().default(false),
      emit: z.boolean().default(false),
      http: hosts.default([]),
      secrets: names.default([]),
      environment: z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,63}$/), z.string().max(4096)).default({}),
      files: z.union([z.literal(''), place]).default(''),
      scratch: z.array(place).max(16).default([]),
    })
    .prefault({}),
  limits: z.partialRecord(z.enum(MODULE_LIMITS), z.int().min(1)).default({}),
});

/** Throws `config.invalid_value`: a manifest that is not understood in full grants nothing. */
export function parseManifest(value: unknown, file: string): ModuleManifest {
  const parsed = manifestSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const at = issue === undefined || issue.path.length === 0 ? '' : ` at ${visibleText(issue.path.join('.'))}`;
  throw new ConfigError('config.invalid_value', `${visibleText(file)}${at}: ${issue?.message ?? 'not a manifest'}.`, {
    fix: 'docs/reference/wasm.md lists what a manifest says; palyra module add writes one.',
  });
}
