import { resolve } from 'node:path';
import type { JsonObject } from '@palyra/primitives';
import type { SandboxCommand, SandboxProfile } from '@palyra/sandbox';
import type { CallPlace, ToolRefusal } from '../catalog/tool.ts';
import type { OperatorNetwork } from '../connections/operator-network.ts';
import { type ProcessNetwork, processNetwork, sandboxEgress } from './process-network.ts';

/** What the caller of `palyra.process.run` writes. */
export interface ProcessInput {
  readonly argv: readonly string[];
  readonly cwd?: string;
  readonly sandbox?: 'strict' | 'limits';
  readonly network?: readonly string[];
  readonly egress?: 'none' | 'preflight' | 'strict';
  readonly unlisted?: 'ask' | 'deny';
  readonly stdin?: string;
  /** What it reads comes while it runs, from whoever is attached. */
  readonly stdin_open?: boolean;
  /** The same, and it is a terminal. */
  readonly terminal?: { readonly rows: number; readonly columns: number; readonly name?: string };
  readonly environment?: Readonly<Record<string, string>>;
  readonly timeout_ms?: number;
}

export const PROCESS_INPUT: JsonObject = {
  type: 'object',
  properties: {
    argv: {
      type: 'array',
      description: 'The program and its arguments; no shell reads them unless the program is one.',
      items: { type: 'string', maxLength: 131_071 },
      minItems: 1,
      maxItems: 4096,
    },
    cwd: {
      type: 'string',
      description: 'Relative to the workspace, or absolute; the workspace unless told.',
      minLength: 1,
      maxLength: 4096,
    },
    sandbox: {
      type: 'string',
      description: 'strict: a box (Tier C). limits: no wall, only limits (Tier B), which is asked about.',
      enum: ['strict', 'limits'],
    },
    network: {
      type: 'array',
      description:
        'Hosts that it needs, as HOST, HOST:PORT,PORT, *.SUFFIX or https://HOST; port 443 unless told. Decided before it starts.',
      items: { type: 'string', minLength: 1, maxLength: 300 },
      maxItems: 64,
    },
    egress: {
      type: 'string',
      description:
        'strict: only those hosts. preflight: they are looked at before it starts, and nothing holds it to them. none: every host, which is asked about.',
      enum: ['strict', 'preflight', 'none'],
    },
    unlisted: {
      type: 'string',
      description: 'What becomes of another host: ask holds the connection while a human is asked, deny refuses it.',
      enum: ['ask', 'deny'],
    },
    stdin: { type: 'string', description: 'What it reads; nothing unless told.', maxLength: 1_048_576 },
    stdin_open: {
      type: 'boolean',
      description: 'What it reads comes while it runs, from whoever is attached to the call; nothing when nobody is.',
    },
    terminal: {
      type: 'object',
      description: 'A terminal of this size instead of pipes, typed into by whoever is attached; all output is stdout.',
      properties: {
        rows: { type: 'integer', minimum: 1, maximum: 9999 },
        columns: { type: 'integer', minimum: 1, maximum: 9999 },
        name: {
          type: 'string',
          description: 'TERM; xterm-256color unless told.',
          pattern: '^[A-Za-z0-9][A-Za-z0-9+._-]{0,63}$',
        },
      },
      required: ['rows', 'columns'],
      additionalProperties: false,
    },
    environment: {
      type: 'object',
      description: 'Variables, by name.',
      additionalProperties: { type: 'string', maxLength: 131_071 },
      propertyNames: { pattern: '^[A-Za-z_][A-Za-z0-9_]*$' },
      maxProperties: 256,
    },
    timeout_ms: {
      type: 'integer',
      description: 'How long it may take, if less than a call may.',
      minimum: 1,
      maximum: 86_400_000,
    },
  },
  required: ['argv'],
  additionalProperties: false,
};

/** One command as it will be run, and the box for it. */
export interface ProcessCommand {
  readonly kind: 'command';
  readonly command: SandboxCommand & { readonly cwd: string };
  readonly profile: SandboxProfile;
  readonly stdin: string | undefined;
  /** Whoever is attached feeds it. */
  readonly isAttachable: boolean;
  readonly network: ProcessNetwork;
  /** Of one that is more than a command; what is more is said in its arguments. */
  readonly session?: ProcessSession;
}

export interface ProcessSession {
  /** `host:port` that are its own, and nobody else's. */
  readonly clientHosts: readonly string[];
  /** Of what the profile shows: its program, and ours. They count as toolchains. */
  readonly programs: readonly string[];
  readonly about: JsonObject;
}

/** What the operator lets commands of a workspace do. */
export interface Operators {
  readonly profile: SandboxProfile;
  readonly network: OperatorNetwork;
}

/**
 * The operator's profile with what the caller asks for. Less is free; more (hosts, limits instead of a box) is in the
 * profile that comes out, and so in what policy decides on.
 */
export function commandOf(
  input: ProcessInput,
  { profile: operators, network: operator }: Operators,
  place: Pick<CallPlace, 'timeoutMs'>,
): ProcessCommand | ToolRefusal {
  const { argv, cwd = '.', environment = {}, stdin, terminal } = input;
  const isAttachable = input.stdin_open === true || terminal !== undefined;
  if (isAttachable && stdin !== undefined) return fedTwice();
  const tier = input.sandbox === undefined ? operators.tier : TIERS[input.sandbox];
  const network = processNetwork({ input, operators, tier, operator });
  if (network.kind === 'refused') return network;
  const foreign = Object.keys(environment).find((name) => tier === 'B' && !operators.environment.includes(name));
  if (foreign !== undefined) return notTakenOver(foreign);
  return {
    kind: 'command',
    command: {
      argv,
      cwd: resolve(operators.workspace.root, cwd),
      environment,
      ...(terminal === undefined ? {} : { terminal }),
    },
    profile: {
      ...operators,
      tier,
      egress: sandboxEgress(network),
      // What is in the box can set them by itself, and none of them is the daemon's.
      environment: [...new Set([...operators.environment, ...Object.keys(environment)])],
      limits: {
        ...operators.limits,
        wallMs: Math.min(operators.limits.wallMs, place.timeoutMs, input.timeout_ms ?? Infinity),
      },
    },
    stdin,
    isAttachable,
    network,
  };
}

const TIERS = { strict: 'C', limits: 'B' } as const;

function fedTwice(): ToolRefusal {
  return invalid(
    'The field stdin says all that it reads, and stdin_open or terminal that it comes while it runs.',
    'Leave one of them away.',
  );
}

function notTakenOver(name: string): ToolRefusal {
  return invalid(
    `The variable ${name} is not among those that the operator lets through in Tier B.`,
    'Leave it away, or run the command in Tier C (sandbox: "strict").',
  );
}

function invalid(message: string, fix: string): ToolRefusal {
  return { kind: 'refused', code: 'gateway.invalid_input', message, fix };
}
