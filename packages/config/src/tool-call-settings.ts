import { z } from 'zod';
import { listed, section } from './section.ts';
import { namesIn } from './wasm-settings.ts';

/** What every tool call is held to, and every command. */
export interface ToolCallSettings {
  readonly tool_calls: {
    /** Names, with spaces between them. */
    readonly allowed_tools: string;
    readonly max_calls_per_run: number;
    readonly execution_timeout_ms: number;
  };
  readonly process_runner: {
    readonly enabled: boolean;
    readonly tier: 'B' | 'C';
    readonly egress: 'none' | 'preflight' | 'strict';
    /** With commas between them. */
    readonly hosts: string;
    readonly wall_ms: number;
    readonly idle_ms: number;
    readonly cpu_ms: number;
    readonly cpu_milli: number;
    readonly memory_bytes: number;
    readonly processes: number;
    readonly open_files: number;
    readonly file_bytes: number;
    readonly tmpfs_bytes: number;
    readonly output_bytes: number;
  };
}

const DAY_MS = 86_400_000;
const MIB = 1_048_576;

/** A name of the catalogue, all names below one, or all there are: a pattern that matches nothing would be a mistake unseen. */
const ALLOWED = /^(?:\*|[a-z0-9][a-z0-9_-]*(?:\.[a-z0-9_-]+)*(?:\.\*)?)$/;

const between = (least: number, most: number, usual: number, description: string) =>
  z.int().min(least).max(most).default(usual).describe(description);

export const toolCallSections: { readonly [Name in keyof ToolCallSettings]: z.ZodType<ToolCallSettings[Name]> } = {
  tool_calls: section('What every call of an agent is held to, before any policy is asked.', {
    allowed_tools: z
      .string()
      .refine((text) => namesIn(text).every((name) => ALLOWED.test(name)))
      .default('*')
      .meta({ expects: 'names of tools, prefixes that end in .*, or *, with spaces between them' })
      .describe(
        'The tools that there are for agents: `palyra.fs.*` is all below it, `*` all. What is not named is refused.',
      ),
    max_calls_per_run: between(
      1,
      1_000_000,
      2_000,
      'How many calls a run makes. A refused one does not count, but as many refusals end the run. A run keeps what it began with.',
    ),
    execution_timeout_ms: between(
      1,
      DAY_MS,
      600_000,
      'How long a call runs, in milliseconds, waiting for an answer not counted. Commands have limits of their own below it.',
    ),
  }),
  // The file tools work in the same kind of box: the least of each limit is what they need.
  process_runner: section(
    'What a command is held to, and where it runs unless its call says; policy decides about each.',
    {
      enabled: z
        .boolean()
        .default(true)
        .describe('Whether commands run at all: ours, an agent’s own, and an agent in the box.'),
      tier: z
        .enum(['B', 'C'])
        .default('C')
        .describe(
          'Where a command of `palyra.process.run` runs whose call does not say (`sandbox`). `C`: the box. `B`: limits and no ' +
            'wall, which policy decides about each time; it goes with `egress` `none` or `preflight` only. Files are read and ' +
            'written in the box in any case, and so are agents.',
        ),
      egress: z
        .enum(['none', 'preflight', 'strict'])
        .default('strict')
        .describe(
          'What holds such a command to its hosts unless its call says (`egress`). `strict`: the proxy. `preflight`: they are ' +
            'looked at before it starts, and nothing holds it afterwards. `none`: every host. Policy decides as if the call had ' +
            'asked for it.',
        ),
      hosts: listed('HOST, HOST:PORT, *.SUFFIX').describe(
        'What such a command reaches that names no hosts itself (`network`); port 443 unless told. Policy decides about each ' +
          'as if the call had named it, and asks where it would have: `palyra allow` writes the rule for that. Not together with ' +
          '`egress = "none"`, and without a scheme.',
      ),
      wall_ms: between(1, DAY_MS, 600_000, 'How long a command takes, in milliseconds.'),
      idle_ms: between(1, DAY_MS, 600_000, 'How long it is silent, in milliseconds.'),
      cpu_ms: between(1, DAY_MS, 600_000, 'How much time of CPUs it uses, in milliseconds.'),
      cpu_milli: between(
        100,
        1_024_000,
        64_000,
        'How much of the CPUs it uses at once, in thousandths of one; needs a cgroup.',
      ),
      memory_bytes: between(
        256 * MIB,
        1_048_576 * MIB,
        4_096 * MIB,
        'How much memory it uses, in bytes: all of its processes where there is a cgroup, else each.',
      ),
      processes: between(64, 1_000_000, 512, 'How many processes and threads it has.'),
      open_files: between(256, 1_000_000, 4_096, 'How many files each of them has open.'),
      file_bytes: between(64 * MIB, 1_048_576 * MIB, 4_096 * MIB, 'How large a file becomes that it writes, in bytes.'),
      tmpfs_bytes: between(
        MIB,
        1_048_576 * MIB,
        1_024 * MIB,
        'How much fits into its `/tmp`, in bytes, and into its home.',
      ),
      output_bytes: between(1, 1_024 * MIB, 16 * MIB, 'How much it puts out, in bytes.'),
    },
  ),
};
