import type { CgroupPlan, LaunchPlan, RlimitName } from '../launch-plan.ts';
import { encodeItems, type ItemToSend as Item, START_ITEM } from './wire.ts';

const RLIMITS: readonly RlimitName[] = ['cpu', 'as', 'nofile', 'fsize', 'nproc', 'core', 'data'];

export interface RequestOptions {
  readonly stdin: boolean;
  /** The sandbox waits so long for its tool, which is named with the word. */
  readonly toolLaterMs?: number;
}

/** Where a command's listener goes, and what it is called there. */
export interface NamedWayOut {
  /** The number of the gate's job. */
  readonly gate: number;
  readonly label: string;
}

/** The payload that asks the launcher for this plan. */
export function encodeRequest(plan: LaunchPlan, { stdin, toolLaterMs }: RequestOptions): Buffer {
  const { tool, identity, wrapper = [], landlock, watch } = plan;
  return encodeItems([
    ...(toolLaterMs === undefined ? toolItems(tool) : [later(toolLaterMs)]),
    ...(tool.terminal === undefined ? [] : [terminal(tool.terminal)]),
    ...(plan.listener ? [{ tag: START_ITEM.listener, bytes: NOTHING }] : []),
    ...plan.rlimits.map(({ name, soft, hard }) => rlimit(RLIMITS.indexOf(name), soft, hard)),
    ...plan.tmpfs.map((path) => text(START_ITEM.tmpfs, path)),
    ...plan.expected.bound.map(({ path }) => text(START_ITEM.bound, path)),
    ...wrapper.map((argument) => text(START_ITEM.wrapperArgument, argument)),
    ...(identity === undefined ? [] : [pair(START_ITEM.identity, identity.uid, identity.gid)]),
    ...plan.staged.map(staged),
    ...plan.cgroups.flatMap(cgroup),
    ...plan.data.map(({ fd, bytes }) => data(fd, bytes)),
    ...(plan.filter === undefined ? [] : [{ tag: START_ITEM.filter, bytes: plan.filter }]),
    ...(landlock === undefined ? [] : [text(START_ITEM.landlockStamp, landlock.stamp)]),
    ...(landlock?.rules ?? []).map(({ access, path }) =>
      flagged(START_ITEM.landlockRule, access === 'write' ? 1 : 0, path),
    ),
    watched(watch),
    ...(watch.cpuCounter === undefined
      ? []
      : [flagged(START_ITEM.cpuCounter, watch.cpuCounter.endsWith('/cpu.stat') ? 1 : 0, watch.cpuCounter)]),
    ...(stdin ? [STDIN] : []),
  ]);
}

/** A program outside of every sandbox, which is given listeners. */
export type GatePlan = Pick<LaunchPlan, 'tool' | 'identity' | 'staged'>;

export function encodeGate({ tool, identity, staged: handedOver }: GatePlan): Buffer {
  return encodeItems([
    ...toolItems(tool),
    ...(identity === undefined ? [] : [pair(START_ITEM.identity, identity.uid, identity.gid)]),
    ...handedOver.map(staged),
    STDIN,
    { tag: START_ITEM.gate, bytes: NOTHING },
  ]);
}

/** A pipe is always there in a job whose tool comes later; without `stdin` the tool reads from nothing instead. */
export type NamedTool = LaunchPlan['tool'] & { readonly stdin: boolean };

/** What comes with the word: of a sandbox that waits, which tool it becomes; of one with a listener, where that goes; whether its streams are ours. */
export interface Word {
  readonly tool?: NamedTool | undefined;
  readonly wayOut?: NamedWayOut | undefined;
  /** Its input and output are given to us, and pass through nobody. */
  readonly handOver?: boolean;
}

export function encodeWord({ tool, wayOut, handOver = false }: Word): Buffer {
  return Buffer.concat([
    ...(tool === undefined ? [] : [encodeTool(tool, tool)]),
    ...(wayOut === undefined ? [] : [encodeItems([labelled(wayOut)])]),
    ...(handOver ? [encodeItems([{ tag: START_ITEM.handOver, bytes: NOTHING }])] : []),
  ]);
}

export function encodeTool(tool: LaunchPlan['tool'], { stdin }: Pick<RequestOptions, 'stdin'>): Buffer {
  return encodeItems([...toolItems(tool), ...(stdin ? [STDIN] : [])]);
}

// Here and below out of Node's pool of memory, for each is written from its first byte to its last: a piece of memory of its own for
// each of two dozen, wiped first, takes longer than all that is written.
const NOTHING = Buffer.alloc(0);
const STDIN: Item = { tag: START_ITEM.stdin, bytes: NOTHING };

function labelled({ gate, label }: NamedWayOut): Item {
  const bytes = Buffer.allocUnsafe(4 + Buffer.byteLength(label));
  bytes.writeUInt32LE(gate, 0);
  bytes.write(label, 4);
  return { tag: START_ITEM.wayOut, bytes };
}

function staged({ name, source, readOnly, idmap }: LaunchPlan['staged'][number]): Item {
  return flagged(START_ITEM.staged, (readOnly ? 1 : 0) | (idmap ? 2 : 0), `${name}\0${source}`);
}

function toolItems(tool: LaunchPlan['tool']): readonly Item[] {
  return [
    text(START_ITEM.toolPath, tool.path),
    ...tool.argv.map((argument) => text(START_ITEM.toolArgument, argument)),
    ...tool.environment.map((variable) => text(START_ITEM.toolVariable, variable)),
    text(START_ITEM.cwd, tool.cwd),
  ];
}

function later(ms: number): Item {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeBigUInt64LE(BigInt(ms));
  return { tag: START_ITEM.later, bytes };
}

function text(tag: number, value: string): Item {
  return { tag, bytes: value };
}

function flagged(tag: number, flags: number, value: string): Item {
  return { tag, bytes: `${String.fromCharCode(flags)}${value}` };
}

function pair(tag: number, first: number, second: number): Item {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeUInt32LE(first, 0);
  bytes.writeUInt32LE(second, 4);
  return { tag, bytes };
}

function terminal({ rows, columns }: { readonly rows: number; readonly columns: number }): Item {
  return { tag: START_ITEM.terminal, bytes: terminalSize(rows, columns) };
}

export function terminalSize(rows: number, columns: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt16LE(rows, 0);
  bytes.writeUInt16LE(columns, 2);
  return bytes;
}

function rlimit(resource: number, soft: number, hard: number): Item {
  const bytes = Buffer.allocUnsafe(17);
  bytes.writeUInt8(resource, 0);
  bytes.writeBigUInt64LE(BigInt(soft), 1);
  bytes.writeBigUInt64LE(BigInt(hard), 9);
  return { tag: START_ITEM.rlimit, bytes };
}

function cgroup({ directory, settings, counters }: CgroupPlan): readonly Item[] {
  return [
    text(START_ITEM.cgroup, directory),
    ...settings.map(({ file, value }) => text(START_ITEM.cgroupSetting, `${file}\0${value}`)),
    ...counters.map((file) => text(START_ITEM.cgroupCounter, file)),
  ];
}

function data(fd: number, content: Uint8Array): Item {
  const bytes = Buffer.allocUnsafe(4 + content.length);
  bytes.writeUInt32LE(fd, 0);
  bytes.set(content, 4);
  return { tag: START_ITEM.data, bytes };
}

function watched({ wallMs, idleMs, outputBytes, treeCpuMs }: LaunchPlan['watch']): Item {
  const bytes = Buffer.allocUnsafe(32);
  for (const [at, value] of [wallMs, idleMs, outputBytes, treeCpuMs ?? 0].entries()) {
    bytes.writeBigUInt64LE(BigInt(value), at * 8);
  }
  return { tag: START_ITEM.watch, bytes };
}
