import { Secret, type SecretText } from '@palyra/primitives';
import { z } from 'zod';
import { type DaemonSettings, daemonSections } from './daemon-settings.ts';
import { isDatabaseUrl } from './database-url.ts';
import { LOG_LEVELS, type LogThreshold } from './log-levels.ts';
import { section } from './section.ts';
import { type ToolCallSettings, toolCallSections } from './tool-call-settings.ts';
import { type WasmSettings, wasmSections } from './wasm-settings.ts';

/**
 * The one place where settings are declared. A new one is a line in `Config` and a line in `configSchema`, which the
 * compiler holds together; loading, `palyra config show`, the default file and docs/reference/config.md follow.
 * Names are those of palyra.toml. A setting is listed only when something reads it.
 */
export interface Config extends DaemonSettings, ToolCallSettings, WasmSettings {
  readonly storage: {
    /** Absent: the embedded database. Secret, because it may hold a password. */
    readonly url: SecretText | undefined;
    readonly lock_timeout_ms: number;
    readonly pool_size: number;
  };
  readonly policy: {
    readonly preset: PolicyPreset;
    readonly auto_apply: boolean;
  };
  readonly approvals: {
    readonly unattended: Unattended;
    readonly timeout_minutes: number;
    readonly timeboxed_hours: number;
    readonly questions_per_hour: number;
    readonly cool_down_minutes: number;
  };
  readonly runs: {
    readonly orphan_minutes: number;
    readonly slow_reader_seconds: number;
  };
  readonly journal: {
    readonly segment_entries: number;
    readonly segment_hours: number;
    readonly keep_days: number;
  };
  readonly log: {
    readonly level: LogThreshold;
  };
}

/** Restated from `@palyra/policy`, which this package may not import. */
const POLICY_PRESETS = ['coding', 'locked', 'observe'] as const;
export type PolicyPreset = (typeof POLICY_PRESETS)[number];

const UNATTENDED = ['wait', 'park', 'deny'] as const;
export type Unattended = (typeof UNATTENDED)[number];

export const configSchema: z.ZodType<Config> = z.strictObject({
  storage: section('Where Palyra keeps its state.', {
    url: z
      .string()
      .refine(isDatabaseUrl)
      .transform((url) => (url === '' ? undefined : new Secret(url)))
      .prefault('')
      .meta({
        expects: '"" or a postgres:// address with a host',
        secret: true,
        description:
          'Empty: SQLite, in `palyra.db` in the home. `postgres://user:password@host:5432/database`: PostgreSQL. ' +
          'The password is never shown.',
      }),
    lock_timeout_ms: z
      .int()
      .min(1)
      .max(600_000)
      .default(5000)
      .describe('How long, in milliseconds, a writer waits for a lock that another process holds.'),
    pool_size: z
      .int()
      .min(1)
      .max(1000)
      .default(8)
      .describe('How many connections to PostgreSQL one process opens at most.'),
  }),
  policy: section('What agents may do; the policies themselves are the `.cedar` files in `policies` in the home.', {
    preset: z
      .enum(POLICY_PRESETS)
      .default('coding')
      .describe(
        'The policies to begin with. `coding`: a human is asked when something leaves the box. `locked`: for every ' +
          'sensitive call. `observe`: nothing is asked, and what `coding` would have answered is recorded.',
      ),
    auto_apply: z
      .boolean()
      .default(false)
      .describe('Whether edited policies take effect by themselves, or only with `palyra policy apply`.'),
  }),
  approvals: section('Questions to people, and how long their answers hold.', {
    unattended: z
      .enum(UNATTENDED)
      .default('wait')
      .describe(
        'What a call does whose question nobody is there to answer. `wait`: it waits until the question runs out. ' +
          '`park`: it returns at once with what is pending, and the same call gets the answer later. `deny`: it is refused.',
      ),
    timeout_minutes: z
      .int()
      .min(1)
      .max(10_080)
      .default(30)
      .describe('How long, in minutes, a question stays open. A run does not use up its own time while it waits.'),
    timeboxed_hours: z
      .int()
      .min(1)
      .max(720)
      .default(8)
      .describe('The longest time, in hours, that a yes for a time holds, whatever its approver asks for.'),
    questions_per_hour: z
      .int()
      .min(1)
      .max(100_000)
      .default(120)
      .describe('How many questions one principal may put in an hour.'),
    cool_down_minutes: z
      .int()
      .min(0)
      .max(1_440)
      .default(10)
      .describe('For how long, in minutes, an agent that was denied three times in a row asks nothing. 0: no pause.'),
  }),
  runs: section('What becomes of a run whose agent is gone, or slow.', {
    orphan_minutes: z
      .int()
      .min(1)
      .max(10_080)
      .default(10)
      .describe('How long, in minutes, a run stays open that nobody of its own is connected to. Then it is cancelled.'),
    slow_reader_seconds: z
      .int()
      .min(0)
      .max(600)
      .default(60)
      .describe(
        'How long, in seconds, a program that writes waits for a caller that does not read. Then the caller misses output.',
      ),
  }),
  journal: section('How long the record is kept in the database; nothing is deleted that is not archived.', {
    segment_entries: z
      .int()
      .min(8)
      .max(10_000_000)
      .default(100_000)
      .describe('How many entries are sealed as one segment, which can be archived to a file.'),
    segment_hours: z
      .int()
      .min(1)
      .max(87_600)
      .default(24)
      .describe('How old, in hours, the first entry of a segment becomes before it is sealed with fewer entries.'),
    keep_days: z
      .int()
      .min(0)
      .max(36_500)
      .default(0)
      .describe(
        'How long, in days, segments stay in the database once they are archived; palyrad archives them to `archive` in ' +
          'the home, `palyra journal archive` to where it is told. 0: they stay, and palyrad archives nothing.',
      ),
  }),
  ...daemonSections,
  ...toolCallSections,
  ...wasmSections,
  log: section('What the programs write about themselves.', {
    level: z
      .enum(LOG_LEVELS)
      .default('info')
      .describe('The least important message that is still written. `PALYRA_LOG` overrides it for one process.'),
  }),
});
